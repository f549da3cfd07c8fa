import { isRecord, jsonText, type ToolCall } from "@bonsai-agent/messages";
import { isTemporary, partsOf } from "./commands.ts";

const PATHS = [
  "path",
  "file_path",
  "filePath",
  "filename",
  "file",
  "target_file",
  "notebook_path",
  "absolute_path",
];
const CHANGES = [
  "oldText",
  "old_string",
  "oldString",
  "old_str",
  "edits",
  "newText",
  "new_string",
  "newString",
  "new_str",
  "diff",
  "patch",
  "insert_line",
  "new_source",
  "content",
  "contents",
  "file_text",
];

/** The file that a call writes or edits, by the shape of its arguments. */
export function changedPath(
  fields: Record<string, unknown>,
  command: string | undefined,
): string | undefined {
  const patch = [fields.input, fields.patch, command].find(
    (value) => typeof value === "string" && value.includes("*** "),
  );
  const patched =
    typeof patch === "string" ? /^\*\*\* (?:Update|Add) File: (.{1,400})$/m.exec(patch)?.[1] : undefined;
  if (patched !== undefined) return patched.trim();
  const path = PATHS.map((key) => fields[key]).find((value) => typeof value === "string" && value !== "");
  return typeof path === "string" && CHANGES.some((key) => key in fields) ? path : undefined;
}

const LOOKING = new Set(
  "get list ls read search find fetch view show describe query check plan preview validate browse inspect count test status diff draft".split(
    " ",
  ),
);
const ACTING = new Set(
  "push publish unpublish release deploy redeploy undeploy delete remove drop truncate migrate upload destroy purge wipe terminate merge send post rollback promote email submit transfer refund".split(
    " ",
  ),
);

/** What a tool did that cannot be taken back, by the words of its name: `deploy_site(site="docs")`; undefined for any other. */
export function actOfTool({ name, arguments: fields }: ToolCall): string | undefined {
  const verb = partsOf(name).find((part) => LOOKING.has(part) || ACTING.has(part));
  if (verb === undefined || LOOKING.has(verb) || isDryRun(fields)) return undefined;
  const paths = PATHS.map((key) => fields[key]).filter((value) => typeof value === "string");
  if (paths.length > 0 && paths.every(isTemporary)) return undefined;
  const shown = Object.entries(fields)
    .slice(0, 8)
    .map(
      ([key, value]) =>
        `${key}=${jsonText(typeof value === "string" ? value.slice(0, 60) : isRecord(value) ? "{…}" : value).slice(0, 62)}`,
    );
  return `${name}(${shown.join(", ")})`;
}

function isDryRun(fields: Record<string, unknown>): boolean {
  return Object.entries(fields).some(
    ([key, value]) => value === true && /^(?:dry|preview|simulate|validate|noop|check)/i.test(key),
  );
}
