import { jsonText, type ToolCall } from "@bonsai-agent/messages";
import { partsOf } from "./command-words.ts";
import { isTemporary } from "./irreversible.ts";
import { wordSet } from "./verbs.ts";

// Tools have other names in every agent: what a call does is told by the shape of its arguments.

type Fields = Readonly<Record<string, unknown>>;

/** The shell command that a tool is given. */
export function commandIn(fields: Fields): string | undefined {
  for (const field of ["command", "cmd", "script", "shell_command", "CommandLine"]) {
    const value = fields[field];
    if (typeof value === "string" && value.trim() !== "") return value;
    if (!Array.isArray(value) || value.length === 0 || !value.every((part) => typeof part === "string"))
      continue;
    return /(?:^|\/)(?:ba|z)?sh$/.test(value[0]!) && value.length === 3 ? value[2] : value.join(" ");
  }
  return undefined;
}

const PATHS = "path file_path filePath filename file target_file notebook_path absolute_path".split(" ");
const CHANGES =
  "oldText old_string oldString old_str edits newText new_string newString new_str diff patch insert_line new_source content contents file_text".split(
    " ",
  );

/** The file that a tool writes or edits. */
export function changedPathIn(fields: Fields, command: string | undefined): string | undefined {
  const patch = [fields.input, fields.patch, command].find(
    (value) => typeof value === "string" && value.includes("*** "),
  );
  const patched = /^\*\*\* (?:Update|Add) File: (\S.{0,400})$/m.exec(String(patch ?? ""))?.[1];
  if (patched !== undefined) return patched.trim();
  return CHANGES.some((key) => key in fields) ? pathsIn(fields)[0] : undefined;
}

function pathsIn(fields: Fields): string[] {
  return PATHS.map((key) => fields[key]).filter(
    (path) => typeof path === "string" && path !== "",
  ) as string[];
}

const LOOKS = wordSet(
  "get list ls read search find fetch view show describe query check plan preview validate browse inspect count test status diff draft",
);
const ACTS = wordSet(
  "push publish unpublish release deploy redeploy undeploy delete remove drop truncate migrate upload destroy purge wipe terminate merge send post rollback promote email submit transfer refund",
);

/** What a tool does that cannot be taken back, by the words of its name: `deploy_site(site="docs")`. */
export function actOf({ name, arguments: fields }: ToolCall): string | undefined {
  const verb = partsOf(name).find((part) => LOOKS.has(part) || ACTS.has(part));
  if (verb === undefined || LOOKS.has(verb)) return undefined;
  const entries = Object.entries(fields);
  if (
    entries.some(([key, value]) => value === true && /^(?:dry|preview|simulate|validate|no_?op)/i.test(key))
  )
    return undefined;
  const paths = pathsIn(fields);
  if (paths.length > 0 && paths.every(isTemporary)) return undefined;
  const shown = entries.slice(0, 8).map(([key, value]) => {
    const text = typeof value === "string" ? value.slice(0, 60) : value;
    return `${key}=${jsonText(text).slice(0, 62)}`;
  });
  return `${name}(${shown.join(", ")})`;
}
