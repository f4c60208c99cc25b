/** A style sheet: bundled into the script that imports it, and the document's once that runs (`console/bundle/plugins.ts`). */
declare module "*.css" {}
