import {
  type AssistantContent,
  type AssistantMessage,
  contentText,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  type JsonLine,
  numberAt,
  stringAt,
  timeAt,
  typeOf,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  answerDraft,
  type CallOutput,
  injectedDraft,
  resultDraft,
  StepList,
  type Transcript,
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
  readonly #list: StepList;
  readonly #notices: NoticeLog;
  #meta: Fields | undefined;
  #name: string | undefined;
  #cwd: string | undefined;
  #model = "unknown";
  #provider = "openai";
  /** The current answer: items up to the next output or user message are one message. */
  #answer:
    | { content: AssistantContent[]; line: number; at: string | undefined; usage: Usage | undefined }
    | undefined;
  /** The latest answer of this turn, until its counts come. */
  #uncounted: AssistantMessage | undefined;
  /** Counts that were written before their answer. */
  #pending: Usage | undefined;
  #isCancelled = false;
  /** Line and time of the current record. */
  #line = 0;
  #at: string | undefined;

  constructor(notices: NoticeLog) {
    this.#list = new StepList(notices);
    this.#notices = notices;
  }

  read({ line, value }: JsonLine, sense: EventSense): void {
    this.#line = this.#notices.place = line;
    this.#at = timeAt(value, "timestamp");
    const { type, payload } = codexRecord(value);
    if (type === "session_meta") this.#readMeta(payload);
    else if (type === "turn_context") {
      this.#model = stringAt(payload, "model") ?? this.#model;
      this.#cwd ??= stringAt(payload, "cwd");
    } else if (type === "response_item") this.#readItem(payload);
    else if (type === "compacted") this.#readCompacted(payload);
    else if (type === "event_msg") this.#readEvent(payload, sense);
    else if (type === "inter_agent_communication") this.#readAgentMessage(payload);
    else {
      if (!STATE_TYPES.has(type ?? "")) this.#notices.add("unknown_record");
      this.#list.skip(type ?? "untyped");
    }
  }

  /** Adds a step of the current record after the open answer. */
  #add(draft: EntryDraft): void {
    this.#closeAnswer();
    this.#list.add(draft, { key: `line:${this.#line}`, at: this.#at });
  }

  finish(): Transcript {
    this.#closeAnswer();
    this.#countApart(this.#pending, "line:end");
    return {
      id: stringAt(this.#meta, "id") ?? "unknown",
      cwd: this.#cwd,
      name: this.#name,
      version: stringAt(this.#meta, "cli_version"),
      list: this.#list,
      leaf: this.#list.head,
    };
  }

  /** Reads the first header. A fork repeats the header of its origin after its own. */
  #readMeta(meta: Fields): void {
    if (this.#meta !== undefined) {
      this.#list.skip("session_meta");
      return;
    }
    this.#meta = meta;
    this.#cwd = stringAt(meta, "cwd");
    this.#provider = stringAt(meta, "model_provider") ?? this.#provider;
    if (stringAt(meta, "forked_from_id") !== undefined) this.#notices.add("forked");
    if (fieldsAt(meta, "source")?.subagent !== undefined) this.#notices.add("sub_agent");
  }

  #readItem(item: Fields): void {
    const content = answerContent(item, this.#notices, this.#line);
    if (content !== undefined) this.#addToAnswer(item, content);
    else if (OUTPUT_ITEMS.has(item.type)) this.#addResult(item, outputOf(item, this.#notices));
    else if (item.type === "message")
      this.#addText(itemContent(item.content, this.#notices), stringAt(item, "role") ?? "user");
    else if (OPAQUE_ITEMS.has(item.type)) this.#addUnreadable("unreadable_compaction", item);
    else {
      if (item.type !== "ghost_snapshot") this.#notices.add("unknown_record");
      this.#list.skip(`response_item/${typeOf(item)}`);
    }
  }

  #addToAnswer(item: Fields, content: AssistantContent[]): void {
    this.#isCancelled = false;
    if (this.#answer === undefined) {
      this.#answer = { content: [], line: this.#line, at: this.#at, usage: this.#pending };
      this.#pending = undefined;
    }
    this.#answer.content.push(...content);
    const result = hostedResult(item);
    if (result !== undefined) this.#addResult(item, { content: [result], isError: false });
  }

  #addResult(item: Fields, output: CallOutput): void {
    this.#add(resultDraft(callId(item, this.#line), output));
  }

  #addText(content: UserContent[], role: string): void {
    this.#closeAnswer();
    if (content.length === 0) this.#notices.add("empty_messages");
    const isUser = role === "user";
    for (const draft of userDrafts(content, isUser ? "codex.context" : `codex.${role}`, !isUser)) {
      if (draft.type === "message") {
        this.#uncounted = undefined;
        this.#isCancelled = false;
      } else if (isAbortMark(draft)) this.#cancel();
      this.#add(draft);
    }
  }

  /** Marks the turn as aborted, once: an item and an event can both say so. */
  #cancel(): void {
    this.#closeAnswer();
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#notices.add("cancelled_turns");
    const place = { key: `line:${this.#line}`, at: this.#at };
    this.#list.head = this.#list.markAborted(place, { provider: this.#provider, model: this.#model });
  }

  /** Keeps an item whole that only its maker can read. */
  #addUnreadable(notice: "unreadable" | "unreadable_compaction", item: Fields): void {
    this.#notices.add(notice);
    this.#add({ type: "custom", customType: "bonsai.unreadable", data: { format: "codex", item } });
  }

  #closeAnswer(): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) return;
    if (answer.content.length === 0) {
      this.#countApart(answer.usage, `line:${answer.line}`);
      return;
    }
    const { content, at, usage, line } = answer;
    const draft = answerDraft({ content, provider: this.#provider, model: this.#model, usage });
    this.#list.add(draft, { key: `line:${line}`, at });
    this.#uncounted = usage === undefined ? draft.message : undefined;
  }

  #readCompacted(compacted: Fields): void {
    this.#closeAnswer();
    const readable = readCompacted(compacted, this.#list.path());
    if (readable === undefined) {
      this.#addUnreadable("unreadable_compaction", { type: "compacted", ...compacted });
      return;
    }
    const { summary, carried } = readable;
    this.#add({ type: "compaction", summary, firstKeptEntryId: "", tokensBefore: 0 });
    for (const item of carried) {
      this.#notices.add("compaction_restated");
      this.#readItem(item);
    }
  }

  /** Reads the facts that only events have: usage, names, rewinds, stops and prompts without an item. */
  #readEvent(event: Fields, { count, isPrompt }: EventSense): void {
    if (event.type === "token_count") {
      if (count !== undefined) this.#readCount(count);
    } else if (event.type === "user_message" && isPrompt) {
      this.#notices.add("event_prompts");
      this.#addText(eventContent(event, this.#notices), "user");
    } else if (event.type === "thread_rolled_back") this.#rewind(numberAt(event, "num_turns"));
    else if (event.type === "turn_aborted") this.#cancel();
    else {
      if (event.type === "thread_name_updated") this.#name = stringAt(event, "thread_name") ?? this.#name;
      this.#list.skip(`event_msg/${typeOf(event)}`);
    }
  }

  /** Gives a request's counts to its answer. Each request counts once, also one without an answer. */
  #readCount({ usage, lost, isRestart, isBefore }: TokenCount): void {
    if (isRestart) this.#notices.add("counts_restarted");
    const key = `line:${this.#line}`;
    this.#countApart(lost, `${key}/lost`);
    if (isBefore) {
      this.#countApart(this.#pending, key);
      this.#pending = usage;
      // The next items belong to another request.
      this.#closeAnswer();
      return;
    }
    this.#closeAnswer();
    if (this.#uncounted === undefined) this.#countApart(usage, key);
    else this.#uncounted.usage = usage;
    this.#uncounted = undefined;
  }

  #countApart(usage: Usage | undefined, key: string): void {
    if (usage === undefined) return;
    this.#closeAnswer();
    this.#notices.add("usage_apart");
    const model = { provider: this.#provider, model: this.#model };
    this.#list.add(
      { type: "usage", kind: "request", ...model, usage },
      { key: `${key}/usage`, at: undefined },
    );
  }

  /** Moves to before the nth last user message. The rewound part stays as a branch. */
  #rewind(turns: number): void {
    this.#closeAnswer();
    const starts = this.#list
      .path()
      .filter(({ draft }) => draft.type === "message" && draft.message.role === "user");
    const target = turns < 1 ? undefined : (starts.at(-turns) ?? starts[0]);
    if (target === undefined) return;
    this.#notices.add("rewound");
    this.#list.head = target.parent;
  }

  #readAgentMessage(payload: Fields): void {
    const content = stringAt(payload, "content");
    const author = stringAt(payload, "author") ?? "agent";
    if (content) this.#add(injectedDraft("codex.agent", `[${author}] ${content}`));
    else this.#addUnreadable("unreadable", payload);
  }
}

function isAbortMark(draft: EntryDraft): boolean {
  return (
    draft.type === "custom_message" && contentText(draft.content).trimStart().startsWith("<turn_aborted")
  );
}
