/** A style sheet: bundled into the importing script, which adds it to the document (`console/bundle/plugins.ts`). */
declare module "*.css" {}
