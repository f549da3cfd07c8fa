import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// `npm start` builds, then runs the command.
const argv = ["--conditions=@bonsai-agent/source", fileURLToPath(new URL("build.ts", import.meta.url))];
const build = spawnSync(process.execPath, argv, { encoding: "utf8" });
if (build.status !== 0) {
  console.error(build.stdout, build.stderr);
  process.exit(build.status ?? 1);
}
await import("./story/start.ts");
