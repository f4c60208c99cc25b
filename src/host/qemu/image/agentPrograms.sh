# Runs inside the new root. Collects what the agent needs in a Sandbox whose root is an image, which may have neither a loader nor a library nor a
# shell: Node, the programs that the agent starts for itself (ownProgram.ts), their loader and their libraries. All are links, so they take no room.
folder=/usr/lib/atoll
loader=/lib64/ld-linux-x86-64.so.2
mkdir -p $folder/bin $folder/lib
ln "$(readlink -f /usr/local/bin/node)" $folder/node
ln "$(readlink -f $loader)" $folder/ld.so
for name in sh script stty mkfifo sync; do
  ln "$(readlink -f "$(command -v $name)")" $folder/bin/$name
done
for program in $folder/node $folder/bin/*; do
  $loader --list "$program" | sed -n 's/^.* => \(\/[^ ]*\) (.*$/\1/p'
done | sort -u | while read -r library; do
  ln "$(readlink -f "$library")" "$folder/lib/$(basename "$library")"
done
