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

/** Writes the script that starts this Bonsai. */
export function writeLauncher(home: string): void {
  const text = `// Starts Bonsai for other agents, whose settings name this file. \`bonsai mcp-server install\` writes it.
await import(${JSON.stringify(pathToFileURL(programFile()).href)});
`;
  if (textFile(launcherFile(home)) !== text) writeWholeFile(launcherFile(home), text);
}

/** A sentence about a launcher that cannot work; undefined for a sound one. */
export function launcherProblem(home: string): string | undefined {
  const text = textFile(launcherFile(home));
  if (text === undefined) return `${launcherFile(home)} is missing.`;
  const [, url = ""] = /import\("(.+)"\)/.exec(text) ?? [];
  if (url.startsWith("file:") && existsSync(fileURLToPath(url))) return undefined;
  return `${launcherFile(home)} starts a Bonsai that no longer exists.`;
}

function launcherFile(home: string): string {
  return join(home, "launcher.mjs");
}

/** The command's first file, from the bundle or from the sources. */
function programFile(): string {
  const places = ["../bin/bonsai.js", "../../bin/bonsai.js"];
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? files[0]!;
}
