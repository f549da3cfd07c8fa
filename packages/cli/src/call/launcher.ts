import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { textFile, writeWholeFile } from "@bonsai-agent/models/host";

/** A program and its arguments. */
export interface LaunchCommand {
  command: string;
  args: string[];
}

/**
 * The command with which other agents start Bonsai. It is the same for all versions, because some agents distrust a
 * changed command. Node with a script also starts on Windows, where a `.cmd` file cannot be spawned.
 */
export function launchCommand(home: string, ...args: string[]): LaunchCommand {
  return { command: process.execPath, args: [launcherFile(home), ...args] };
}

/**
 * Writes the script that starts this Bonsai. Calls of the hook load only the hook, and stay silent if that fails: the agent
 * must not notice them.
 */
export function writeLauncher(home: string): void {
  const text = `// Starts Bonsai for other agents, whose settings name this file. \`bonsai hook install\` and \`bonsai mcp-server install\` write it.
import nodeModule from "node:module";

const program = ${JSON.stringify(urlOf(PROGRAM_PLACES))};
const hook = ${JSON.stringify(urlOf(HOOK_PLACES))};
const log = ${JSON.stringify(hookLogFile(home))};
const [command, , agent] = process.argv.slice(2);
if (command === "hook") await runHook();
else await import(program);

async function runHook() {
  // Modules for require load in 20 ms less.
  const require = nodeModule.createRequire(import.meta.url);
  try {
    nodeModule.enableCompileCache?.();
    const { main } = require(require("node:url").fileURLToPath(hook));
    await main(agent, ${JSON.stringify(home)});
  } catch (error) {
    try {
      const { appendFileSync, mkdirSync, statSync } = require("node:fs");
      mkdirSync(require("node:path").dirname(log), { recursive: true, mode: 0o700 });
      const line = JSON.stringify({ at: new Date().toISOString(), agent, error: String(error) });
      if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) < 1e6) appendFileSync(log, line + "\\n", { mode: 0o600 });
    } catch {
      // Without a log, the call still ends in silence.
    }
  }
}
`;
  if (textFile(launcherFile(home)) !== text) writeWholeFile(launcherFile(home), text);
}

/** A sentence about a launcher that cannot start Bonsai or its hook; undefined for a sound one. */
export function launcherProblem(home: string, started: "program" | "hook"): string | undefined {
  const text = textFile(launcherFile(home));
  if (text === undefined) return `${launcherFile(home)} is missing.`;
  const [, url] = new RegExp(`^const ${started} = "(file:.+)";$`, "m").exec(text) ?? [];
  if (url !== undefined && existsSync(fileURLToPath(url))) return undefined;
  return `${launcherFile(home)} starts a Bonsai that no longer exists.`;
}

/** The log of the hook's calls. */
export function hookLogFile(home: string): string {
  return join(home, "logs", "hook.log");
}

function launcherFile(home: string): string {
  return join(home, LAUNCHER);
}

const LAUNCHER = "launcher.mjs";

/** The files from the command's bundle, then from the sources. */
const PROGRAM_PLACES = ["../bin/bonsai.js", "../../bin/bonsai.js"];
const HOOK_PLACES = ["./hook/hook.cjs", "../../dist/hook/hook.cjs"];

function urlOf(places: readonly string[]): string {
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return pathToFileURL(files.find((file) => existsSync(file)) ?? files[0]!).href;
}
