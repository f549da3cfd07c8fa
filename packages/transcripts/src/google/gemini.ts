import type { AssistantContent } from "@bonsai-agent/messages";
import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  isoTime,
  type JsonLine,
  listAt,
  nameOf,
  stringAt,
  stringsAt,
} from "../import/json-lines.ts";
import type { NoticeLog, SourcePlace } from "../import/notices.ts";
import {
  assistantDraft,
  countSkipped,
  maskDraft,
  omitDraft,
  resultDraft,
  StepList,
  type Transcript,
  text,
} from "../import/step.ts";
import {
  answerParts,
  functionResponses,
  type GeminiCompression,
  GeminiHistory,
  type GeminiMask,
  type GeminiNode,
  partsContent,
  partsText,
  recordedTokens,
  responseContent,
  toolCall,
} from "./records.ts";

/** Reads a chat recording of Gemini CLI, line by line; an old `.json` recording is one record. */
export function readGemini(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const history = new GeminiHistory(notices);
  for (const line of lines) history.read(line);
  return new GeminiSteps(history, notices).transcript();
}

/** Makes steps of a replayed recording. */
class GeminiSteps {
  readonly #steps = new StepList();
  readonly #history: GeminiHistory;
  readonly #notices: NoticeLog;
  readonly #first = new Map<object, string>();
  readonly #last = new Map<object, string | null>();
  readonly #results = new Map<string, string>();
  readonly #keys = new Map<object, string[]>();
  readonly #omitted = new Set<string>();
  #model = "unknown";

  constructor(history: GeminiHistory, notices: NoticeLog) {
    this.#history = history;
    this.#notices = notices;
  }

  transcript(): Transcript {
    this.#model = this.#firstModel();
    const { metadata, head, nodes, masks, skipped } = this.#history;
    for (const node of nodes) {
      this.#enter("place" in node ? node.place : node.line);
      this.#add(node);
    }
    this.#enter(undefined);
    this.#steps.head = head === null ? null : (this.#last.get(head) ?? null);
    for (const mask of masks) this.#mask(mask);
    if (metadata.kind === "subagent") this.#notices.add("sub_agent");
    return {
      id: stringAt(metadata, "sessionId") ?? "unknown",
      cwd: stringsAt(metadata, "directories")[0],
      name: stringAt(metadata, "summary"),
      steps: this.#steps.steps,
      leaf: this.#steps.head,
      notices: this.#notices,
      skipped,
      subAgents: [],
    };
  }

  #firstModel(): string {
    const models = this.#history.nodes.map((node) =>
      "record" in node ? stringAt(node.record, "model") : undefined,
    );
    return models.find((model) => model !== undefined) ?? "unknown";
  }

  #enter(place: SourcePlace | undefined): void {
    this.#steps.source = place;
    this.#notices.place = place;
  }

  #add(node: GeminiNode | GeminiCompression): void {
    this.#steps.head = node.parent === null ? null : (this.#last.get(node.parent) ?? null);
    const before = this.#steps.steps.length;
    if ("record" in node) this.#addMessage(node);
    else this.#addCompression(node);
    const added = this.#steps.steps.slice(before).map((step) => step.key);
    this.#keys.set(node, added);
    if (added[0] !== undefined) this.#first.set(node, added[0]);
    this.#last.set(node, this.#steps.head);
  }

  #addCompression(node: GeminiCompression): void {
    const { line, at, summary } = node;
    const firstKept = node.firstKept === undefined ? "" : (this.#first.get(node.firstKept) ?? "");
    const key = `line:${line}`;
    this.#steps.add({
      key,
      at,
      draft: { type: "compaction", summary, firstKeptEntryId: firstKept, tokensBefore: 0 },
    });
    for (const target of node.omitted.flatMap((omitted) => this.#keys.get(omitted) ?? [])) {
      this.#omitted.add(target);
      this.#steps.add({ key: `${key}/${target}`, at, draft: omitDraft(target) });
    }
  }

  #addMessage({ record }: GeminiNode): void {
    if (record.type === "user") {
      this.#addUser(record);
      return;
    }
    if (record.type === "gemini") {
      this.#addAnswer(record);
      return;
    }
    if (!["info", "error", "warning"].includes(nameOf(record.type))) this.#notices.add("unknown_record");
    else if (saysCancelled(record)) this.#cancel(record);
    countSkipped(this.#history.skipped, nameOf(record.type));
  }

  #addUser(record: Fields): void {
    const at = isoTime(record.timestamp);
    const { own, added } = userSplit(record, this.#notices);
    const options = { customType: "gemini.context", at };
    const drafts = [
      ...userDrafts({ ...options, content: added, injected: true }),
      ...userDrafts({ ...options, content: own }),
    ];
    for (const draft of drafts) this.#steps.add({ key: nameOf(record.id), at, draft });
    // Results stand with their calls; only one that is recorded nowhere else is read from here.
    const loose = functionResponses(record.content).filter(
      (response) => !this.#results.has(nameOf(response.id)),
    );
    for (const response of loose) this.#addResult(response, { status: undefined, at });
    if (drafts.length === 0 && functionResponses(record.content).length === 0)
      this.#notices.add("empty_messages");
  }

  #addAnswer(record: Fields): void {
    const at = isoTime(record.timestamp);
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
    const draft = assistantDraft({
      content,
      provider: "google",
      model: stringAt(record, "model") ?? "unknown",
      at,
      usage: recordedTokens(fieldsAt(record, "tokens")),
    });
    this.#steps.add({ key: nameOf(record.id), at, draft });
    this.#model = draft.message.model;
    for (const call of calls) this.#addCallResult(call, isoTime(call.timestamp) ?? at);
    // The program asks the model no more where it has nothing but cancelled calls to tell.
    if (calls.length > 0 && calls.every((call) => call.status === "cancelled")) this.#cancel(record);
  }

  /** Its calls and a note can both say it. */
  #cancel(record: Fields): void {
    if (this.#steps.isAborted()) return;
    this.#notices.add("cancelled_turns");
    const turn = { key: nameOf(record.id), at: isoTime(record.timestamp), parent: this.#steps.head };
    this.#steps.head = this.#steps.markAborted({ ...turn, provider: "google", model: this.#model });
  }

  #addCallResult(call: Fields, at: string | undefined): void {
    const response = functionResponses(call.result)[0];
    const plain = response === undefined ? partsText(call.result) : "";
    // A call that was never answered is left to the pairing, which gives it its placeholder.
    if (response === undefined && plain === "") return;
    const found = response ?? { response: { output: plain } };
    this.#addResult({ ...found, id: call.id, name: call.name }, { status: call.status, at });
  }

  #addResult(response: Fields, { status, at }: { status: unknown; at: string | undefined }): void {
    const callId = nameOf(response.id ?? response.name);
    const { content, isError } = responseContent(response);
    const draft = resultDraft({
      callId,
      toolName: stringAt(response, "name") ?? "unknown",
      content,
      isError: isError || status === "error" || status === "cancelled",
      at,
    });
    this.#results.set(callId, this.#steps.add({ key: `result:${callId}`, at, draft }).key);
  }

  #mask({ callId, content }: GeminiMask): void {
    const target = this.#results.get(callId);
    // A later edit would bring back what is left out.
    if (target === undefined || this.#omitted.has(target)) return;
    this.#steps.add({ key: `${target}/masked`, at: undefined, draft: maskDraft(target, content) });
  }
}

/** The program writes so in a note of its own. */
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
