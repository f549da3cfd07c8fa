#!/usr/bin/env node
// `npm run install:global`: builds and packs the command, installs it with npm, and prints its version and place.
// Plain JavaScript without dependencies, because the Node that runs it may be too old for everything else.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const shell = process.platform === "win32";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19))
  fail(
    `bonsai needs Node 22.19 or newer. This is Node ${process.versions.node}, so nothing was installed.`,
    "Install a newer Node (for example `nvm install 24`) and run this again. Without installing, `npm start` works with this Node.",
  );

const prefix = read("npm", "prefix", "--global");
const folder = mkdtempSync(join(tmpdir(), "bonsai-install-"));
try {
  run(
    [process.execPath, "scripts/up.mjs", "--silent", "run", "pack:command", folder],
    "Run `npm test` to find the fault.",
  );
  run(
    ["npm", "install", "--global", "--no-audit", "--no-fund", join(folder, readdirSync(folder)[0])],
    `If npm may not write to ${prefix}, choose a folder of your own: \`npm config set prefix ~/.local\`, then run this again.`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const bin = shell ? prefix : join(prefix, "bin");
const command = join(bin, shell ? "bonsai.cmd" : "bonsai");
console.log(`\nInstalled bonsai ${read(command, "--version")}: ${command}`);
const isOnPath = (process.env.PATH ?? "").split(delimiter).some((each) => resolve(each) === resolve(bin));
console.log(
  isOnPath
    ? "Next: `bonsai models` lists the models you can use, `bonsai` opens it in this folder."
    : `Add ${bin} to your PATH to call it as \`bonsai\`.`,
);

function run([program, ...args], hint) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit", shell });
  if (status !== 0) fail(`Failed: ${program} ${args.join(" ")}`, hint);
}

function read(program, ...args) {
  return spawnSync(program, args, { cwd: root, encoding: "utf8", shell }).stdout?.trim();
}

function fail(message, hint) {
  console.error(`\n${message}\n${hint}`);
  process.exit(1);
}
