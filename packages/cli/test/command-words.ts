import { globSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const modifiedMs = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** `pnpm build` may be older than the sources. Then its command is not the one to test. */
function isBuildCurrent(): boolean {
  const builtMs = modifiedMs(at("../dist/main.mjs"));
  const sources = globSync(["packages/*/src/**/*.ts", "extensions/*/{*,src/**/*}.ts"], {
    cwd: at("../../.."),
  });
  return builtMs > 0 && sources.every((path) => modifiedMs(at(`../../../${path}`)) <= builtMs);
}

/**
 * Arguments of Node that start `bonsai`. The built command starts in a third of the time that its sources take, so the
 * sources run only without a current build.
 */
export const commandWords: readonly string[] = isBuildCurrent()
  ? [at("../bin/bonsai.js")]
  : ["--conditions=@bonsai-agent/source", "--no-warnings", at("../src/main.ts")];
