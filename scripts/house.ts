import { fileURLToPath } from "node:url";
import { checkChangesets } from "./house/changesets.ts";
import { checkDist } from "./house/dist.ts";
import { checkErrorTable } from "./house/error-table.ts";
import { houseFigures } from "./house/figures.ts";
import { checkFirstParty } from "./house/first-party.ts";
import { checkLayers } from "./house/layers.ts";
import { checkNamedFiles } from "./house/named-files.ts";
import { checkNoticeTable } from "./house/notice-table.ts";
import { checkPublicTypes } from "./house/public-types.ts";
import { checkSizes } from "./house/sizes.ts";

// Holds the house: `pnpm house`, part of `npm test`. Import cycles are Biome's noImportCycles.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const checks = {
  layers: checkLayers,
  "first-party extensions": checkFirstParty,
  sizes: checkSizes,
  "public types": checkPublicTypes,
  changesets: checkChangesets,
  "error table": checkErrorTable,
  "notice table": checkNoticeTable,
  "named files": checkNamedFiles,
  dist: checkDist,
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const { errors, warnings } = check(root);
  for (const warning of warnings) console.log(`house, ${name}: look at ${warning}`);
  for (const error of errors) console.error(`house, ${name}: ${error}`);
  failed += errors.length;
}
console.log(houseFigures(root));
console.log(failed === 0 ? "house: in order" : `house: ${failed} to mend`);
process.exitCode = failed === 0 ? 0 : 1;
