#!/usr/bin/env node
// `npm run install:global`: builds and packs the command, installs it with npm, and prints its version and place.
// Plain JavaScript without dependencies, because the Node that runs it may be too old for everything else.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const isWindows = process.platform === "win32";

refuseOldNode();
const folder = mkdtempSync(join(tmpdir(), "bonsai-install-"));
try {
  run(
    process.execPath,
    ["scripts/up.mjs", "--silent", "run", "pack:command", folder],
    "build and pack the command",
  );
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) fail("The build left no package.", "Run `npm test` to find the fault.");
  run(
    "npm",
    ["install", "--global", "--no-audit", "--no-fund", join(folder, tarball)],
    "install the command",
    installHint(),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
report();

function refuseOldNode() {
  const { engines } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  const [wantedMajor, wantedMinor] = engines.node.match(/\d+/g).map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  fail(
    `bonsai needs Node ${wantedMajor}.${wantedMinor} or newer. This is Node ${process.versions.node}, so nothing was installed.`,
    "Install a newer Node (for example `nvm install 24`) and run this again. Without installing, `npm start` works with this Node.",
  );
}

function run(program, args, what, hint) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit", shell: isWindows });
  if (status !== 0) fail(`Could not ${what}${error === undefined ? "" : `: ${error.message}`}.`, hint);
}

function installHint() {
  const { stdout } = spawnSync("npm", ["prefix", "--global"], {
    cwd: root,
    encoding: "utf8",
    shell: isWindows,
  });
  const prefix = stdout?.trim();
  return `If npm may not write to ${prefix}, choose a folder of your own: \`npm config set prefix ~/.local\`, then run this again.`;
}

function report() {
  const { stdout } = spawnSync("npm", ["prefix", "--global"], {
    cwd: root,
    encoding: "utf8",
    shell: isWindows,
  });
  const bin = isWindows ? stdout.trim() : join(stdout.trim(), "bin");
  const command = join(bin, isWindows ? "bonsai.cmd" : "bonsai");
  const version = spawnSync(command, ["--version"], { encoding: "utf8", shell: isWindows });
  if (version.status !== 0)
    fail(`The installed command does not start: ${version.stderr}`, "Run `npm test` to find the fault.");
  console.log(`\nInstalled bonsai ${version.stdout.trim()}: ${command}`);
  const first = firstOnPath();
  if (first === undefined) console.log(`Add ${bin} to your PATH to call it as \`bonsai\`.`);
  else if (realpathSync(first) !== realpathSync(command))
    console.log(`Another bonsai comes first on your PATH: ${first}. Remove it, or move ${bin} to the front.`);
  else console.log("Next: `bonsai models` lists the models you can use, `bonsai` opens it in this folder.");
}

function firstOnPath() {
  const name = isWindows ? "bonsai.cmd" : "bonsai";
  const folders = (process.env.PATH ?? "").split(delimiter);
  // npm puts the clone's own programs on the PATH of its scripts.
  const ownPrograms = /[\\/]node_modules[\\/]\.bin$/;
  return folders
    .filter((each) => each !== "" && !ownPrograms.test(each))
    .map((each) => join(each, name))
    .find((file) => existsSync(file));
}

function fail(message, hint) {
  console.error(`\n${message}${hint === undefined ? "" : `\n${hint}`}`);
  process.exit(1);
}
