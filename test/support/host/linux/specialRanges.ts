/**
 * The IPv4 ranges that are not globally reachable, and multicast.
 * @source IANA IPv4 Special-Purpose Address Registry (RFC 6890, RFC 8190); RFC 5771
 */
const ianaRanges = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
] as const

/** Public addresses that are reached only from inside of a cloud: Azure's, Equinix Metal's, IBM Cloud's two. */
const cloudRanges = ["168.63.129.16/32", "192.80.8.124/32", "161.26.0.0/16", "166.8.0.0/14"] as const

export const specialRanges = [...ianaRanges, ...cloudRanges] as const

/**
 * Where clouds serve metadata, credentials, wire servers, time and names to their own machines, as each documents it.
 * Not in order of size.
 * A service that is reached by name is here with the address that the name has on the cloud's own resolver.
 */
export const cloudServices: ReadonlyArray<readonly [cloud: string, address: string, name?: string]> = [
  ["AWS", "169.254.169.254", "instance-data.ec2.internal"],
  ["AWS", "fd00:ec2::254"],
  ["AWS name server", "169.254.169.253"],
  ["AWS name server", "fd00:ec2::253"],
  ["AWS time", "169.254.169.123"],
  ["AWS time", "fd00:ec2::123"],
  ["AWS ECS credentials", "169.254.170.2"],
  ["AWS EKS credentials", "169.254.170.23"],
  ["AWS EKS credentials", "fd00:ec2::23"],
  ["Azure", "169.254.169.254"],
  ["Azure wire server, name server, health", "168.63.129.16"],
  ["Google Cloud", "169.254.169.254", "metadata.google.internal"],
  ["Google Cloud", "fd20:ce::254", "metadata.google.internal"],
  ["Oracle Cloud", "169.254.169.254"],
  ["Oracle Cloud", "fd00:c1::a9fe:a9fe"],
  ["Oracle Cloud boot volumes", "169.254.0.2"],
  ["Oracle Cloud Classic", "192.0.0.192"],
  ["Alibaba Cloud", "100.100.100.200"],
  ["Alibaba Cloud name server", "100.100.2.136"],
  ["Alibaba Cloud name server", "100.100.2.138"],
  ["Tencent Cloud", "169.254.0.23", "metadata.tencentyun.com"],
  ["Tencent Cloud", "169.254.10.10"],
  ["Tencent Cloud", "100.88.222.5"],
  ["Volcano Engine", "100.96.0.96"],
  ["Huawei Cloud", "169.254.169.254"],
  ["IBM Cloud", "169.254.169.254", "api.metadata.cloud.ibm.com"],
  ["IBM Cloud name server", "161.26.0.10"],
  ["IBM Cloud service endpoints", "166.9.48.1"],
  ["DigitalOcean", "169.254.169.254"],
  ["Hetzner", "169.254.169.254"],
  ["Vultr", "169.254.169.254"],
  ["Linode", "169.254.169.254"],
  ["Linode", "fd00:a9fe:a9fe::1"],
  ["Scaleway", "169.254.42.42"],
  ["Scaleway", "fd00:42::42"],
  ["OVHcloud", "169.254.169.254"],
  ["OpenStack", "169.254.169.254"],
  ["OpenStack", "fe80::a9fe:a9fe"],
  ["Equinix Metal", "192.80.8.124", "metadata.platformequinix.com"],
  ["Kubernetes node-local name server", "169.254.20.10"]
]
