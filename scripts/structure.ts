import { fileURLToPath } from "node:url";
import { checkChangesets } from "./structure/changesets.ts";
import { checkDist } from "./structure/dist.ts";
import { checkEnglish } from "./structure/english.ts";
import { structureFigures } from "./structure/figures.ts";
import { checkFirstParty } from "./structure/first-party.ts";
import { checkLayers } from "./structure/layers.ts";
import { checkNamedFiles } from "./structure/named-files.ts";
import { checkPublicTypes } from "./structure/public-types.ts";
import { checkSizes } from "./structure/sizes.ts";

// `pnpm lint:structure`, part of `npm test`, checks the structure of the workspace. Biome's noImportCycles finds import cycles.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const checks = {
  layers: checkLayers,
  "first-party extensions": checkFirstParty,
  sizes: checkSizes,
  english: checkEnglish,
  "public types": checkPublicTypes,
  changesets: checkChangesets,
  "named files": checkNamedFiles,
  dist: checkDist,
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const { errors, warnings } = check(root);
  for (const warning of warnings) console.log(`structure, ${name}: warning: ${warning}`);
  for (const error of errors) console.error(`structure, ${name}: ${error}`);
  failed += errors.length;
}
console.log(structureFigures(root));
console.log(
  failed === 0 ? "structure: no errors" : `structure: ${failed} ${failed === 1 ? "error" : "errors"}`,
);
process.exitCode = failed === 0 ? 0 : 1;
