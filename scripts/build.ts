import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// `pnpm build` compiles all packages at once, in a third of the time of single packages, and bundles the command.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

run("tsc", "-b");
run("tsc", "-p", "packages/page/browser");
run("tsx", "packages/page/build.ts");
// The cache adds its files to the folder, so files of an older build would stay and be packed.
rmSync(join(root, "packages/cli/dist"), { recursive: true, force: true });
run("turbo", "run", "build", "--filter=bonsai-agent", "--only", "--output-logs=errors-only");

function run(program: string, ...args: string[]): void {
  const { status } = spawnSync(join(root, "node_modules/.bin", program), args, {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
