import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@bonsai-agent/messages";
import { parse, stringify } from "smol-toml";
import { unreadableConfig } from "../call/agent-config.ts";

type Values = Readonly<Record<string, string | readonly string[]>>;

/** Parses TOML. @throws BonsaiError `agent_config_unreadable` */
export function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw unreadableConfig(file, "TOML", cause);
  }
}

/**
 * Sets values of the table `[parent.name]` in a TOML text and keeps everything else, comments and order included. Undefined
 * removes the table and its subtables. Returns undefined for a text that writes the table in another form, such as an
 * inline table: the result must have exactly the wanted value.
 */
export function withTomlTable(
  text: string,
  [parent, name]: readonly [string, string],
  values: Values | undefined,
): string | undefined {
  const changed = values === undefined ? removed(text, [parent, name]) : set(text, [parent, name], values);
  try {
    const servers = (value: Record<string, unknown>) => (isRecord(value[parent]) ? value[parent] : {});
    // Clones have plain prototypes.
    const [before, after] = [structuredClone(parse(text)), structuredClone(parse(changed))];
    const { [name]: own, ...others } = servers(before);
    const wanted =
      values === undefined ? others : { ...others, [name]: { ...(isRecord(own) ? own : {}), ...values } };
    const isWanted =
      isDeepStrictEqual({ ...servers(after) }, wanted) &&
      isDeepStrictEqual({ ...before, [parent]: 0 }, { ...after, [parent]: 0 });
    return isWanted ? changed : undefined;
  } catch {
    return undefined;
  }
}

function set(text: string, [parent, name]: readonly [string, string], values: Values): string {
  const lines = text.split("\n");
  const [own] = tablesOf(lines, parent, name);
  const assignments = stringify(values).trimEnd().split("\n");
  if (own === undefined) {
    const gap = text.trim() === "" ? "" : `${text.trimEnd()}\n\n`;
    return `${gap}[${parent}.${name}]\n${assignments.join("\n")}\n`;
  }
  const keys = new Set(Object.keys(values));
  const kept = lines
    .slice(own.start + 1, own.end)
    .filter((line) => !keys.has(/^\s*([\w-]+)\s*=/.exec(line)?.[1] ?? ""));
  return [...lines.slice(0, own.start + 1), ...assignments, ...kept, ...lines.slice(own.end)].join("\n");
}

function removed(text: string, [parent, name]: readonly [string, string]): string {
  const lines = text.split("\n");
  for (const { start, end } of tablesOf(lines, parent, name).reverse()) lines.splice(start, end - start);
  return lines.join("\n").replace(/\n{2,}$/, "\n");
}

/** The lines of a table and of its subtables, each up to the comments above the next table. */
function tablesOf(lines: readonly string[], parent: string, name: string): { start: number; end: number }[] {
  const heads = lines.flatMap((line, at) => (/^\s*\[/.test(line) ? [at] : []));
  const isOwn = new RegExp(`^\\s*\\[\\s*"?${parent}"?\\s*\\.\\s*["']?${name}["']?\\s*[.\\]]`);
  return heads.flatMap((start, at) => {
    if (!isOwn.test(lines[start]!)) return [];
    let end = heads[at + 1] ?? lines.length;
    while (end < lines.length && end > start + 1 && lines[end - 1]!.trimStart().startsWith("#")) end -= 1;
    return [{ start, end }];
  });
}
