import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { staleOutputs } from "./house/dist.ts";
import { readPackages } from "./house/workspace.ts";

// Removes what earlier builds left in dist. It runs after the build, for what the build's cache gives back may hold
// such files too.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
for (const file of readPackages(root).flatMap(staleOutputs)) rmSync(file, { force: true });
