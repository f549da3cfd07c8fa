import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { DecideRule, NotifyRule, PayloadRule } from "@bonsai-agent/lifecycle";
import { filesBelow } from "../structure/workspace.ts";
import { type DeclaredType, type EventTypes, readDeclaredTypes, readEventTypes } from "./event-types.ts";
import { eventWords } from "./event-words.ts";

/** The guide's table of events: its first part is written by hand, what stands below the mark is made of the types. */
export const EVENTS_DOCUMENT = "docs/events.md";
export const GENERATED_MARK = "<!-- Below this line: made by `pnpm events-table`. -->\n";

const SOURCES = [
  ["Sessions", "packages/agent/src/events.ts", "SessionEvents"],
  ["Compaction and the tree", "packages/compaction/src/events.ts", "CompactionEvents"],
  ["Runs", "packages/agent/src/events.ts", "RunEvents"],
] as const;

interface EventGroup {
  title: string;
  events: readonly EventTypes[];
}

/** What the document should be: its own first part, and what the types say now. */
export function eventsDocument(root: string): string {
  const [byHand] = readFileSync(join(root, EVENTS_DOCUMENT), "utf8").split(GENERATED_MARK);
  return `${byHand}${GENERATED_MARK}\n${generatedPart(root)}`;
}

export function generatedPart(root: string): string {
  const groups = SOURCES.map(([title, file, name]) => ({
    title,
    events: readEventTypes(join(root, file), name),
  }));
  return [table(groups), ...groups.map(section), typesSection(root, groups)].join("\n");
}

type AnyRule = (DecideRule<Record<string, unknown>> & PayloadRule<object, object>) | NotifyRule;

function ruleOf({ name }: EventTypes): AnyRule {
  return lifecycleEventRules[name as keyof LifecycleEvents] as AnyRule;
}

function table(groups: readonly EventGroup[]): string {
  const rows = groups
    .flatMap(({ events }) => events)
    .map((event) => {
      const when = eventWords[event.name as keyof LifecycleEvents];
      return `| [\`${event.name}\`](#${event.name}) | ${event.kind} | ${when} | ${onThrow(ruleOf(event))} |`;
    });
  return [
    "## All events",
    "",
    "| event | kind | when | a throw |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function onThrow(rule: AnyRule): string {
  return rule.kind === "decide" && rule.onError === "cancel" ? "**blocks**" : "is reported";
}

function section({ title, events }: EventGroup): string {
  return [`## ${title}`, "", ...events.map(description)].join("\n");
}

function description(event: EventTypes): string {
  const words = eventWords[event.name as keyof LifecycleEvents];
  const facts = [`${words[0]!.toUpperCase()}${words.slice(1)}.`, ...combination(ruleOf(event))].join(" ");
  const signature = `(event: ${event.payload}) => ${event.result ?? "void"}`;
  return `### ${event.name}\n\n${facts}\n\n\`\`\`ts\n${signature}\n\`\`\`\n`;
}

/** How the answers of several handlers become one, in words. */
function combination(rule: AnyRule): string[] {
  if (rule.kind === "notify") return ["Notify: nothing is expected back."];
  const ends = [{ cancel: true }, { block: true }, { action: "handled" }].find((result) =>
    rule.final(result),
  );
  const quoted = (fields: readonly PropertyKey[]) => fields.map((field) => `\`${String(field)}\``).join(", ");
  const [exclusive, merged, keyed] = [rule.exclusive, Object.keys(rule.merge ?? {}), rule.keyed ?? []];
  return [
    rule.onError === "cancel"
      ? "Decide; a throw, and what is no answer, blocks."
      : "Decide; a throw is reported.",
    ends === undefined ? "" : `\`${shown(ends)}\` ends it: later handlers are not asked.`,
    exclusive.length === 0
      ? ""
      : `Of several handlers that set ${quoted(exclusive)}, the later stands, and a notice names both.`,
    merged.length === 0 ? "" : `${quoted(merged)} of several handlers add up.`,
    keyed.length === 0 ? "" : `${quoted(keyed)} of several handlers add up by key.`,
    rule.transform === undefined ? "" : "Each handler gets what the one before it made of the event.",
    rule.readOnly === undefined ? "" : `${quoted(rule.readOnly)} is frozen.`,
  ].filter((sentence) => sentence !== "");
}

function shown(result: object): string {
  return JSON.stringify(result)
    .replaceAll(/"(\w+)":/g, "$1: ")
    .replace("{", "{ ")
    .replace("}", " }");
}

/** The types that the events name: in full where they are the events' own, else the package that has them. */
function typesSection(root: string, groups: readonly EventGroup[]): string {
  const own = new Map([...typesOf(root, "agent"), ...typesOf(root, "compaction")]);
  const others = new Map(
    ["messages", "models", "session", "digest", "lifecycle"].flatMap((folder) =>
      [...typesOf(root, folder).keys()].map((name) => [name, folder]),
    ),
  );
  const named = new Set<string>();
  const elsewhere = new Map<string, string>();
  const visit = (text: string): void => {
    for (const [name] of text.matchAll(/\b[A-Z]\w+\b/g)) {
      const type = own.get(name);
      if (type === undefined || type.text.includes("z.output")) {
        const folder = type === undefined ? others.get(name) : "compaction";
        if (folder !== undefined) elsewhere.set(name, folder);
      } else if (!named.has(name)) {
        named.add(name);
        visit(type.text.replaceAll(/\/\*[\s\S]*?\*\//g, ""));
      }
    }
  };
  for (const { payload, result = "" } of groups.flatMap(({ events }) => events))
    visit(`${payload} ${result}`);
  const blocks = [...named].sort().map((name) => `\`\`\`ts\n${own.get(name)!.text}\n\`\`\`\n`);
  const rows = [...elsewhere]
    .sort()
    .map(
      ([name, folder]) => `| \`${name}\` | [\`@bonsai-agent/${folder}\`](../packages/${folder}/README.md) |`,
    );
  return ["## Types", "", ...blocks, "| type | package |", "| --- | --- |", ...rows, ""].join("\n");
}

function typesOf(root: string, folder: string): Map<string, DeclaredType> {
  const files = filesBelow(join(root, "packages", folder, "src"), [".ts"]);
  return new Map(files.flatMap((file) => readDeclaredTypes(file)).map((type) => [type.name, type]));
}
