import {
  type AssistantContent,
  type AssistantMessage,
  contentText,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { userDrafts } from "../import/injected.ts";
import { type Fields, fieldsAt, isoTime, type JsonLine, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  assistantDraft,
  countSkipped,
  injectedDraft,
  resultDraft,
  StepList,
  type Transcript,
  unreadableDraft,
} from "../import/step.ts";
import { eventContent, promptsInEvents, type TokenCount, tokenCounts } from "./events.ts";
import {
  answerContent,
  callId,
  codexRecord,
  hostedResult,
  itemContent,
  OPAQUE_ITEMS,
  OUTPUT_ITEMS,
  outputOf,
  readCompacted,
} from "./items.ts";

/** Lines with state of the program instead of conversation. */
const STATE_TYPES = new Set(["world_state", "token_usage_record", "record_type/state"]);

/** Reads a rollout of Codex: `sessions/YYYY/MM/DD/rollout-….jsonl`. */
export function readCodex(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const reader = new CodexReader(notices);
  const counts = tokenCounts(lines);
  const prompts = promptsInEvents(lines);
  for (const [at, line] of lines.entries())
    reader.read(line, { count: counts.get(at), isPrompt: prompts.has(at) });
  return reader.finish();
}

/** Facts about an event from the records around it. */
interface EventSense {
  count: TokenCount | undefined;
  /** True for a prompt without an item. */
  isPrompt: boolean;
}

class CodexReader {
  readonly #steps = new StepList();
  readonly #notices: NoticeLog;
  readonly #skipped = new Map<string, number>();
  #meta: Fields | undefined;
  #name: string | undefined;
  #cwd: string | undefined;
  #model = "unknown";
  #provider = "openai";
  /** The current answer: items up to the next output or user message are one message. */
  #answer: { content: AssistantContent[]; line: number; at: string | undefined; usage?: Usage } | undefined;
  /** The latest answer of this turn, until its counts come. */
  #uncounted: AssistantMessage | undefined;
  /** Counts that were written before their answer. */
  #pending: Usage | undefined;
  #isCancelled = false;
  /** Line and time of the current record. */
  #line = 0;
  #at: string | undefined;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read({ line, value }: JsonLine, sense: EventSense): void {
    this.#line = this.#steps.source = this.#notices.place = line;
    this.#at = isoTime(value.timestamp);
    const { type, payload } = codexRecord(value);
    switch (type) {
      case "session_meta":
        this.#readMeta(payload);
        return;
      case "turn_context":
        this.#readTurn(payload);
        return;
      case "response_item":
        this.#readItem(payload);
        return;
      case "compacted":
        this.#readCompacted(payload);
        return;
      case "event_msg":
        this.#readEvent(payload, sense);
        return;
      case "inter_agent_communication":
        this.#readAgentMessage(payload);
        return;
      default:
        if (!STATE_TYPES.has(type ?? "")) this.#notices.add("unknown_record");
        countSkipped(this.#skipped, type ?? "untyped");
    }
  }

  get #key(): string {
    return `line:${this.#line}`;
  }

  finish(): Transcript {
    this.#closeAnswer();
    this.#countApart(this.#pending, "line:end");
    return {
      id: stringAt(this.#meta, "id") ?? "unknown",
      cwd: this.#cwd,
      name: this.#name,
      version: stringAt(this.#meta, "cli_version"),
      steps: this.#steps.steps,
      leaf: this.#steps.head,
      notices: this.#notices,
      skipped: this.#skipped,
      subAgents: [],
    };
  }

  /** Reads the first header. A fork repeats the header of its origin after its own. */
  #readMeta(meta: Fields): void {
    if (this.#meta !== undefined) {
      countSkipped(this.#skipped, "session_meta");
      return;
    }
    this.#meta = meta;
    this.#cwd = stringAt(meta, "cwd");
    this.#provider = stringAt(meta, "model_provider") ?? this.#provider;
    if (stringAt(meta, "forked_from_id") !== undefined) this.#notices.add("forked");
    if (fieldsAt(meta, "source")?.subagent !== undefined) this.#notices.add("sub_agent");
  }

  #readTurn(turn: Fields): void {
    this.#model = stringAt(turn, "model") ?? this.#model;
    this.#cwd ??= stringAt(turn, "cwd");
  }

  #readItem(item: Fields): void {
    const content = answerContent(item, this.#notices, this.#line);
    if (content !== undefined) {
      this.#addToAnswer(item, content);
      return;
    }
    if (OUTPUT_ITEMS.has(item.type)) {
      this.#readOutput(item);
      return;
    }
    if (item.type === "message") {
      this.#addMessage(item);
      return;
    }
    if (OPAQUE_ITEMS.has(item.type)) {
      this.#addUnreadable(item);
      return;
    }
    if (item.type !== "ghost_snapshot") this.#notices.add("unknown_record");
    countSkipped(this.#skipped, `response_item/${stringAt(item, "type") ?? "untyped"}`);
  }

  #addToAnswer(item: Fields, content: AssistantContent[]): void {
    this.#isCancelled = false;
    this.#answer ??= this.#begunAnswer();
    this.#answer.content.push(...content);
    const result = hostedResult(item);
    if (result !== undefined) this.#addResult(callId(item, this.#line), { content: result, isError: false });
  }

  #begunAnswer() {
    const usage = this.#pending;
    this.#pending = undefined;
    return { content: [], line: this.#line, at: this.#at, ...(usage === undefined ? {} : { usage }) };
  }

  #readOutput(item: Fields): void {
    this.#addResult(callId(item, this.#line), outputOf(item, this.#notices));
  }

  #addResult(id: string, output: { content: UserContent[]; isError: boolean }): void {
    this.#closeAnswer();
    const draft = resultDraft({ callId: id, toolName: "unknown", at: this.#at, ...output });
    this.#steps.add({ key: this.#key, at: this.#at, draft });
  }

  #addMessage(item: Fields): void {
    const content = itemContent(item.content, this.#notices);
    this.#addText(content, stringAt(item, "role") ?? "user");
  }

  #addText(content: UserContent[], role: string): void {
    this.#closeAnswer();
    if (content.length === 0) {
      this.#notices.add("empty_messages");
      return;
    }
    const drafts = userDrafts({
      content,
      customType: role === "user" ? "codex.context" : `codex.${role}`,
      at: this.#at,
      injected: role !== "user",
    });
    for (const draft of drafts) {
      if (draft.type === "message") this.#beginTurn();
      else if (isAbortMark(draft)) this.#cancel();
      this.#steps.add({ key: this.#key, at: this.#at, draft });
    }
  }

  #beginTurn(): void {
    this.#uncounted = undefined;
    this.#isCancelled = false;
  }

  /** Marks the turn as aborted, once: an item and an event can both say so. */
  #cancel(): void {
    this.#closeAnswer();
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#notices.add("cancelled_turns");
    const turn = { provider: this.#provider, model: this.#model, parent: this.#steps.head };
    this.#steps.head = this.#steps.markAborted({ key: this.#key, at: this.#at, ...turn });
  }

  #addUnreadable(item: Fields): void {
    this.#closeAnswer();
    this.#notices.add("unreadable_compaction");
    this.#steps.add({ key: this.#key, at: this.#at, draft: unreadableDraft("codex", item) });
  }

  #closeAnswer(): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) return;
    if (answer.content.length === 0) {
      this.#countApart(answer.usage, `line:${answer.line}`);
      return;
    }
    const { content, at, usage } = answer;
    const draft = assistantDraft({ content, provider: this.#provider, model: this.#model, at, usage });
    this.#steps.add({ key: `line:${answer.line}`, at, draft });
    this.#uncounted = usage === undefined ? draft.message : undefined;
  }

  #readCompacted(compacted: Fields): void {
    this.#closeAnswer();
    const readable = readCompacted(compacted, this.#steps.path());
    if (readable === undefined) {
      this.#addUnreadable({ type: "compacted", ...compacted });
      return;
    }
    const { summary, carried } = readable;
    const draft = { type: "compaction", summary, firstKeptEntryId: "", tokensBefore: 0 } as const;
    this.#steps.add({ key: this.#key, at: this.#at, draft });
    for (const item of carried) this.#restate(item);
  }

  #restate(item: Fields): void {
    this.#notices.add("compaction_restated");
    this.#readItem(item);
  }

  /** Reads the facts that only events have: usage, names, rewinds, stops and prompts without an item. */
  #readEvent(event: Fields, sense: EventSense): void {
    if (event.type === "token_count") {
      if (sense.count !== undefined) this.#readCount(sense.count);
      return;
    }
    if (event.type === "user_message" && sense.isPrompt) {
      this.#notices.add("event_prompts");
      this.#addText(eventContent(event, this.#notices), "user");
      return;
    }
    if (event.type === "thread_rolled_back") this.#rewind(numberAt(event, "num_turns"));
    else if (event.type === "turn_aborted") this.#cancel();
    else this.#skipEvent(event);
  }

  #skipEvent(event: Fields): void {
    if (event.type === "thread_name_updated") this.#name = stringAt(event, "thread_name") ?? this.#name;
    countSkipped(this.#skipped, `event_msg/${stringAt(event, "type") ?? "untyped"}`);
  }

  /** Gives a request's counts to its answer. Each request counts once, also one without an answer. */
  #readCount({ usage, lost, isRestart, isBefore }: TokenCount): void {
    if (isRestart) this.#notices.add("counts_restarted");
    this.#countApart(lost, `${this.#key}/lost`);
    if (isBefore) {
      this.#countApart(this.#pending, this.#key);
      this.#pending = usage;
      // The next items belong to another request.
      this.#closeAnswer();
      return;
    }
    this.#closeAnswer();
    if (this.#uncounted === undefined) this.#countApart(usage, this.#key);
    else this.#uncounted.usage = usage;
    this.#uncounted = undefined;
  }

  #countApart(usage: Usage | undefined, key: string): void {
    if (usage === undefined) return;
    this.#closeAnswer();
    this.#notices.add("usage_apart");
    const draft = {
      type: "usage",
      kind: "request",
      provider: this.#provider,
      model: this.#model,
      usage,
    } as const;
    this.#steps.add({ key: `${key}/usage`, at: undefined, draft });
  }

  /** Moves to before the nth last user message. The rewound part stays as a branch. */
  #rewind(turns: number): void {
    this.#closeAnswer();
    const starts = this.#steps
      .path()
      .filter(({ draft }) => draft.type === "message" && draft.message.role === "user");
    const target = turns < 1 ? undefined : (starts.at(-turns) ?? starts[0]);
    if (target === undefined) return;
    this.#notices.add("rewound");
    this.#steps.head = target.parent;
  }

  #readAgentMessage(payload: Fields): void {
    this.#closeAnswer();
    const content = stringAt(payload, "content");
    if (content === undefined || content === "") {
      this.#notices.add("unreadable");
      this.#steps.add({ key: this.#key, at: this.#at, draft: unreadableDraft("codex", payload) });
      return;
    }
    const from = stringAt(payload, "author") ?? "agent";
    this.#steps.add({
      key: this.#key,
      at: this.#at,
      draft: injectedDraft("codex.agent", `[${from}] ${content}`),
    });
  }
}

function isAbortMark(draft: EntryDraft): boolean {
  return (
    draft.type === "custom_message" && contentText(draft.content).trimStart().startsWith("<turn_aborted")
  );
}
