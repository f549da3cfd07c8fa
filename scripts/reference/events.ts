import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { DecideEvent, EventRules, NotifyEvent } from "@bonsai-agent/lifecycle";
import { filesBelow } from "../structure/workspace.ts";
import {
  codeOf,
  commentAbove,
  declarationOf,
  membersOf,
  namesOf,
  readSource,
  type SourceFile,
} from "./declarations.ts";
import { code, page, sentence, table } from "./markdown.ts";

/** The order of all events, drawn by hand. A test plays it. */
export const EVENT_ORDER = "scripts/reference/event-order.txt";

const SOURCES = [
  ["Sessions", "agent", "SessionEvents"],
  ["Compaction and the tree", "compaction", "CompactionEvents"],
  ["Runs", "agent", "RunEvents"],
] as const;

interface EventType {
  name: string;
  kind: string;
  /** When the event is emitted. */
  when: string;
  payload: string;
  /** Only of a decide event. */
  result?: string;
}

/** The packages whose types the page shows in full. */
const OWN_PACKAGES = ["agent", "compaction"] as const;

type OwnPackage = (typeof OWN_PACKAGES)[number];

interface EventGroup {
  title: string;
  own: OwnPackage;
  events: readonly EventType[];
}

export function eventsPage(root: string): string {
  const groups = SOURCES.map(([title, own, name]) => ({
    title,
    own,
    events: readEvents(readSource(join(root, "packages", own, "src/events.ts")), name),
  }));
  const order = readFileSync(join(root, EVENT_ORDER), "utf8");
  return page(
    "Events",
    "Extensions handle events with `bonsai.on(name, handler)`, programs with `lifecycle.on(name, handler)`. [Events and handlers](../extensions.md#events-and-handlers) has the rules.",
    [
      "## Order\n\nOne run from top to bottom. An arrow to the right shows where a step leads if it ends otherwise.",
      `\`\`\`text\n${order}\`\`\``,
      overview(groups),
      ...groups.map(section),
      typesSection(root, groups),
    ],
  );
}

function readEvents(source: SourceFile, interfaceName: string): EventType[] {
  return membersOf(source, interfaceName).map(({ name, comment, node }) => {
    if (node.type !== "TSTypeReference") throw new Error(`${interfaceName}.${name} is not an event`);
    const [payload, result] = (node.typeArguments?.params ?? []).map((part) => codeOf(source, part));
    const kind = codeOf(source, node.typeName) === "DecideEvent" ? "decide" : "notify";
    return {
      name,
      kind,
      when: sentence(comment),
      payload: payload!,
      ...(result === undefined ? {} : { result }),
    };
  });
}

/** The rule of an event of each kind. */
type AnyRule = EventRules<{
  notify: NotifyEvent<object>;
  decide: DecideEvent<object, Record<string, unknown>>;
}>["decide" | "notify"];

function ruleOf({ name }: EventType): AnyRule {
  return lifecycleEventRules[name as keyof LifecycleEvents] as AnyRule;
}

function overview(groups: readonly EventGroup[]): string {
  const rows = groups
    .flatMap(({ events }) => events)
    .map((event) => {
      const rule = ruleOf(event);
      const onThrow = rule.kind === "decide" && rule.onError === "cancel" ? "**blocks**" : "is reported";
      return [`[\`${event.name}\`](#${event.name})`, event.kind, event.when, onThrow];
    });
  return `## All events\n\n${table(["event", "kind", "when", "a throw"], rows)}`;
}

function section({ title, events }: EventGroup): string {
  return [`## ${title}`, ...events.map(description)].join("\n\n");
}

function description(event: EventType): string {
  const facts = [event.when, ...combination(ruleOf(event))].join(" ");
  const signature = `(event: ${event.payload}) => ${event.result ?? "void"}`;
  return `### ${event.name}\n\n${facts}\n\n\`\`\`ts\n${signature}\n\`\`\``;
}

/** How the results of several handlers become one, in words. */
function combination(rule: AnyRule): string[] {
  if (rule.kind === "notify") return ["Notify: the result is ignored."];
  const last = [{ cancel: true }, { block: true }, { action: "handled" }].find((result) =>
    rule.final(result),
  );
  const quoted = (fields: readonly PropertyKey[]) => fields.map((field) => code(String(field))).join(", ");
  const [exclusive, merged, keyed] = [rule.exclusive, Object.keys(rule.merge ?? {}), rule.keyed ?? []];
  return [
    rule.onError === "cancel"
      ? "Decide: a throw or an invalid result blocks."
      : "Decide: a throw is reported.",
    last === undefined ? "" : `After \`${shownResult(last)}\` no other handler is called.`,
    exclusive.length === 0
      ? ""
      : `If several handlers set ${quoted(exclusive)}, the last one wins and a notice names both.`,
    merged.length === 0 ? "" : `${quoted(merged)} of several handlers add up.`,
    keyed.length === 0 ? "" : `${quoted(keyed)} of several handlers add up by key.`,
    rule.transform === undefined ? "" : "Each handler gets the event as the handlers before it changed it.",
    rule.readOnly === undefined ? "" : `${quoted(rule.readOnly)} is frozen.`,
  ].filter((text) => text !== "");
}

function shownResult(result: object): string {
  return JSON.stringify(result)
    .replaceAll(/"(\w+)":/g, "$1: ")
    .replace("{", "{ ")
    .replace("}", " }");
}

/** The types that the events name: their own in full, the others as links to their package. */
function typesSection(root: string, groups: readonly EventGroup[]): string {
  const ownTypes = { agent: typesOf(root, "agent"), compaction: typesOf(root, "compaction") };
  const others = new Map(
    ["messages", "models", "session", "lifecycle"].flatMap((folder) =>
      [...typesOf(root, folder).keys()].map((name) => [name, folder]),
    ),
  );
  const named = new Map<string, string>();
  const elsewhere = new Map<string, string>();
  const visit = (text: string, own: OwnPackage): void => {
    // Two packages can have a type of the same name: the own one counts.
    const [first, second] = own === "agent" ? OWN_PACKAGES : OWN_PACKAGES.toReversed();
    for (const [name] of text.matchAll(/\b[A-Z]\w+\b/g)) {
      const from = [first!, second!].find((each) => ownTypes[each].has(name));
      const type = from && ownTypes[from].get(name);
      if (from === undefined || type === undefined || type.includes("z.output")) {
        const folder = type === undefined ? others.get(name) : "compaction";
        if (folder !== undefined) elsewhere.set(name, folder);
      } else if (!named.has(name)) {
        named.set(name, type);
        visit(type.replaceAll(/\/\*[\s\S]*?\*\//g, ""), from);
      }
    }
  };
  for (const { events, own } of groups)
    for (const { payload, result = "" } of events) visit(`${payload} ${result}`, own);
  const blocks = [...named].sort().map(([, text]) => `\`\`\`ts\n${text}\n\`\`\``);
  const rows = [...elsewhere]
    .sort()
    .map(([name, folder]) => [code(name), `[\`@bonsai-agent/${folder}\`](../../packages/${folder}/API.md)`]);
  return ["## Types", ...blocks, table(["type", "package"], rows)].join("\n\n");
}

/** The interfaces and type aliases of a package, with their comments. */
function typesOf(root: string, folder: string): Map<string, string> {
  const types = new Map<string, string>();
  for (const file of filesBelow(join(root, "packages", folder, "src"), [".ts"])) {
    const source = readSource(file);
    for (const statement of source.body) {
      const declaration = declarationOf(statement);
      if (declaration.type !== "TSInterfaceDeclaration" && declaration.type !== "TSTypeAliasDeclaration")
        continue;
      const comment = commentAbove(source, statement);
      const text = codeOf(source, declaration);
      for (const name of namesOf(declaration))
        types.set(name, comment === "" ? text : `/** ${comment.replaceAll("\n", " ")} */\n${text}`);
    }
  }
  return types;
}
