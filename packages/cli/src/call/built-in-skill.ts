import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Skill } from "@bonsai-agent/agent";
import type { ResourcePlace } from "./resource-places.ts";

/** The same as in the skill's SKILL.md: written here, so that a start reads no file for it. A test compares both. */
const DESCRIPTION =
  "Answers questions about Bonsai itself (the bonsai command) - its commands, slash commands, flags, settings, " +
  "compaction, sessions, extensions, models and errors. Use it when the user asks how Bonsai works or how to configure or extend it.";

/**
 * The skill that answers questions about Bonsai from the documents that ship with the command: beside the bundle, or in
 * the repository. None if they are not there.
 */
export function builtInSkills(): (Skill & { place: ResourcePlace })[] {
  const folder = ["../skills/bonsai", "../../skills/bonsai"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, "SKILL.md")));
  if (folder === undefined) return [];
  const skill = {
    name: "bonsai",
    description: DESCRIPTION,
    path: join(folder, "SKILL.md"),
    folder,
    isForModel: true,
    isForUser: false,
    readable: folder,
    place: { path: folder, origin: "package" as const, from: "bonsai" },
  };
  return [skill];
}
