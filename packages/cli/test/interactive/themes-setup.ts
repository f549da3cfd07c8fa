import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { themeTokenNames } from "@bonsai-agent/extension/themes";
import { type AgentProject, agentProject, says } from "../call/agent-project.ts";
import { opened } from "./command-setup.ts";
import type { OpenedInteractive, OpenInteractiveOptions } from "./harness.ts";

/** A theme of one colour for every text and another behind it, both told from all others. */
export function themeJson(name: string, colour: string, more: object = {}): string {
  const colors = Object.fromEntries(
    themeTokenNames.map((token) => [token, token.endsWith("Bg") ? "ground" : "colour"]),
  );
  return JSON.stringify({ name, vars: { colour, ground: "#010203" }, colors, ...more });
}

interface Setup {
  settings?: object;
  /** By file name, in the user's folder of themes. */
  themes?: Record<string, string>;
}

export function projectWith({ settings = {}, themes = {} }: Setup): AgentProject {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "themes"));
  writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
  for (const [name, text] of Object.entries(themes)) writeFileSync(join(project.home, "themes", name), text);
  return project;
}

export const env = { NO_COLOR: "" };
const colour = (r: number, g: number, b: number) => `\u001b[38;2;${r};${g};${b}m`;
export const red = colour(255, 0, 0);
export const green = colour(0, 255, 0);
export const blue = colour(0, 0, 255);
export const lightBorder = "\u001b[38;5;248m─";

export const openedWith = (setup: Setup, options: OpenInteractiveOptions = {}) =>
  opened({ project: projectWith(setup), env, ...options });
export const themeFile = ({ project }: OpenedInteractive, name: string) => join(project.home, "themes", name);
/** Waits until something with this begins to be written, from now on. */
export async function drawn(
  { terminal }: OpenedInteractive,
  opening: string,
  from = terminal.written.length,
) {
  await terminal.until(() => terminal.written.slice(from).join("").includes(opening));
}
export const settingsOf = ({ project }: OpenedInteractive) =>
  JSON.parse(readFileSync(join(project.home, "settings.json"), "utf8"));
