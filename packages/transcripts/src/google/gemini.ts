import type { AssistantContent } from "@bonsai-agent/messages";
import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  type JsonLine,
  listAt,
  nameOf,
  stringAt,
  stringsAt,
  timeAt,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  answerDraft,
  maskDraft,
  omitDraft,
  resultDraft,
  StepList,
  type Transcript,
  text,
} from "../import/step.ts";
import { type GeminiCompression, GeminiHistory, type GeminiNode } from "./history.ts";
import {
  answerParts,
  functionResponses,
  partsContent,
  partsText,
  recordedTokens,
  responseContent,
  toolCall,
} from "./records.ts";

/** Reads a chat recording of Gemini CLI, line by line; an old `.json` recording is one record. */
export function readGemini(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const list = new StepList(notices);
  const history = new GeminiHistory(list);
  for (const line of lines) history.read(line);
  return new GeminiSteps(history, list).transcript();
}

/** Makes steps of a replayed recording. */
class GeminiSteps {
  readonly #list: StepList;
  readonly #history: GeminiHistory;
  readonly #notices: NoticeLog;
  /** The keys of each node's steps, and the last step up to it. */
  readonly #placed = new Map<object | null, { keys: string[]; end: string | null }>();
  readonly #results = new Map<string, string>();
  readonly #omitted = new Set<string>();
  #model: string;

  constructor(history: GeminiHistory, list: StepList) {
    this.#list = list;
    this.#history = history;
    this.#notices = list.notices;
    const models = history.nodes.map((node) =>
      "record" in node ? stringAt(node.record, "model") : undefined,
    );
    this.#model = models.find((model) => model !== undefined) ?? "unknown";
  }

  transcript(): Transcript {
    const { metadata, head, nodes, masks } = this.#history;
    for (const node of nodes) this.#place(node);
    this.#notices.place = undefined;
    this.#list.head = this.#placed.get(head)?.end ?? null;
    for (const [callId, content] of masks) {
      const target = this.#results.get(callId);
      // A later edit would bring back an omitted result.
      if (target !== undefined && !this.#omitted.has(target))
        this.#list.add(maskDraft(target, content), { key: `${target}/masked`, at: undefined });
    }
    if (metadata.kind === "subagent") this.#notices.add("sub_agent");
    return {
      id: stringAt(metadata, "sessionId") ?? "unknown",
      cwd: stringsAt(metadata, "directories")[0],
      name: stringAt(metadata, "summary"),
      list: this.#list,
      leaf: this.#list.head,
    };
  }

  #place(node: GeminiNode | GeminiCompression): void {
    const list = this.#list;
    this.#notices.place = "place" in node ? node.place : node.line;
    list.head = this.#placed.get(node.parent)?.end ?? null;
    const before = list.steps.length;
    if ("record" in node) this.#addMessage(node.record);
    else this.#addCompression(node);
    const keys = list.steps.slice(before).map(({ key }) => key);
    this.#placed.set(node, { keys, end: list.head });
  }

  #addCompression({ line, at, summary, ...node }: GeminiCompression): void {
    const key = `line:${line}`;
    const firstKeptEntryId = this.#placed.get(node.firstKept ?? null)?.keys[0] ?? "";
    this.#list.add({ type: "compaction", summary, firstKeptEntryId, tokensBefore: 0 }, { key, at });
    for (const target of node.omitted.flatMap((omitted) => this.#placed.get(omitted)?.keys ?? [])) {
      this.#omitted.add(target);
      this.#list.add(omitDraft(target), { key: `${key}/${target}`, at });
    }
  }

  #addMessage(record: Fields): void {
    if (record.type === "user") this.#addUser(record);
    else if (record.type === "gemini") this.#addAnswer(record);
    else {
      if (!["info", "error", "warning"].includes(nameOf(record.type))) this.#notices.add("unknown_record");
      else if (saysCancelled(record)) this.#cancel(record);
      this.#list.skip(nameOf(record.type));
    }
  }

  #addUser(record: Fields): void {
    const at = timeAt(record, "timestamp");
    const { own, added } = userSplit(record, this.#notices);
    const drafts = [...userDrafts(added, "gemini.context", true), ...userDrafts(own, "gemini.context")];
    for (const draft of drafts) this.#list.add(draft, { key: nameOf(record.id), at });
    const responses = functionResponses(record.content);
    // Results come with their calls; only one that is recorded nowhere else is read from here.
    for (const response of responses.filter(({ id }) => !this.#results.has(nameOf(id))))
      this.#addResult(response, undefined, at);
    if (drafts.length === 0 && responses.length === 0) this.#notices.add("empty_messages");
  }

  #addAnswer(record: Fields): void {
    const at = timeAt(record, "timestamp");
    const calls = listAt(record, "toolCalls");
    const named = new Set(calls.map((call) => call.id));
    const said = answerParts(record.content).filter(
      (block) => block.type !== "toolCall" || !named.has(block.id),
    );
    const content = [...thoughts(record), ...said, ...calls.map(toolCall)];
    if (content.length === 0) {
      this.#notices.add("empty_messages");
      return;
    }
    this.#model = stringAt(record, "model") ?? "unknown";
    const usage = recordedTokens(fieldsAt(record, "tokens"));
    const draft = answerDraft({ content, provider: "google", model: this.#model, usage });
    this.#list.add(draft, { key: nameOf(record.id), at });
    for (const call of calls) this.#addCallResult(call, timeAt(call, "timestamp") ?? at);
    // Gemini CLI sends no further request if all calls were cancelled.
    if (calls.length > 0 && calls.every((call) => call.status === "cancelled")) this.#cancel(record);
  }

  /** Marks the turn as aborted, once: its calls and a note can both say so. */
  #cancel(record: Fields): void {
    if (this.#list.isAborted()) return;
    this.#notices.add("cancelled_turns");
    const place = { key: nameOf(record.id), at: timeAt(record, "timestamp") };
    this.#list.head = this.#list.markAborted(place, { provider: "google", model: this.#model });
  }

  #addCallResult(call: Fields, at: string | undefined): void {
    const response = functionResponses(call.result)[0];
    const output = response === undefined ? partsText(call.result) : "";
    // The pairing gives a call without a result its placeholder.
    if (response === undefined && output === "") return;
    const found = response ?? { response: { output } };
    this.#addResult({ ...found, id: call.id, name: call.name }, call.status, at);
  }

  #addResult(response: Fields, status: unknown, at: string | undefined): void {
    const callId = nameOf(response.id ?? response.name);
    const { content, isError } = responseContent(response);
    const output = { content, isError: isError || status === "error" || status === "cancelled" };
    const draft = resultDraft(callId, output, stringAt(response, "name"));
    this.#results.set(callId, this.#list.add(draft, { key: `result:${callId}`, at }));
  }
}

/** True for a note of the program that the turn was cancelled. */
function saysCancelled(record: Fields): boolean {
  return (
    record.type === "info" &&
    /^\W*(?:request|operation|turn|generation) (?:was )?cancell?ed\b/i.test(partsText(record.content))
  );
}

function thoughts(record: Fields): AssistantContent[] {
  return listAt(record, "thoughts").map((thought) => ({
    type: "thinking",
    thinking: [stringAt(thought, "subject"), stringAt(thought, "description")].filter(Boolean).join(": "),
  }));
}

/** Separates the typed text from the contents of files that the program added. */
function userSplit(record: Fields, notices: NoticeLog) {
  const content = partsContent(record.content, notices);
  const typed = partsText(record.displayContent);
  const whole = partsText(record.content);
  if (typed === "" || typed === whole || !whole.startsWith(typed)) return { own: content, added: [] };
  const images = content.filter((block) => block.type === "image");
  return { own: [text(typed), ...images], added: [text(whole.slice(typed.length).trim())] };
}
