#!/usr/bin/env node
// `node scripts/up.mjs <pnpm arguments>`: bring the toolchain up, install, then run `pnpm <arguments>`.
// Plain JavaScript without dependencies, for any Node >= 18. Where `node` and `pnpm` already satisfy
// package.json (engines.node, packageManager) it fetches neither and only runs `pnpm install`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const NODE = "24.21.0"; // fetched only where the running Node does not satisfy engines.node
const root = fileURLToPath(new URL("..", import.meta.url));
const self = fileURLToPath(import.meta.url);
const pkg = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
const args = process.argv.slice(2);
const shell = process.platform === "win32";

function run(cmd, argv, env) {
  const r = spawnSync(cmd, argv, { cwd: root, stdio: "inherit", env: { ...process.env, ...env }, shell });
  if (r.error) throw r.error;
  if (r.status !== 0) process.exit(r.status ?? 1);
}
const parts = (v) =>
  v
    .replace(/^[^\d]*/, "")
    .split(".")
    .map(Number);
function satisfies(have, min) {
  const [a, b] = [parts(have), parts(min)];
  const i = [0, 1, 2].find((k) => (a[k] ?? 0) !== (b[k] ?? 0));
  return i === undefined || (a[i] ?? 0) > (b[i] ?? 0);
}

if (!existsSync(`${root}/node_modules`) && !process.env.UP_AGAIN)
  console.error("First run: installing and building takes about half a minute.");

const major = parts(process.version)[0];
const nodeOk = satisfies(process.version, pkg.engines.node) && (major % 2 === 0 || major > 26);
const have = spawnSync("pnpm", ["--version"], { cwd: root, encoding: "utf8", shell });
const pnpmOk = have.status === 0 && parts(have.stdout.trim())[0] === parts(pkg.packageManager)[0];

if (nodeOk && pnpmOk) {
  const env = { TURBO_TELEMETRY_DISABLED: "1", UP_AGAIN: undefined };
  // Only tests and benches use this program of a PostgreSQL server, which is as large as all else together.
  const without = args.includes("story") ? ["--filter=!@bonsai-agent/postgres-server"] : [];
  run("pnpm", ["install", "--frozen-lockfile", "--loglevel=warn", ...without], env);
  run("pnpm", args, env);
} else {
  if (process.env.UP_AGAIN)
    throw new Error(`toolchain not found (node ${process.version}, pnpm ${have.stdout})`);
  const want = [
    nodeOk ? [] : `--package=node@${NODE}`,
    pnpmOk ? [] : `--package=${pkg.packageManager}`,
  ].flat();
  run("npm", ["exec", "--yes", "--prefer-offline", ...want, "--", "node", self, ...args], { UP_AGAIN: "1" });
}
