import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type GapRecord,
  type GapText,
  gapRecord,
  gapText,
  lostFacts,
  summaryInstructions,
} from "@bonsai-agent/compaction/host";
import { isRecord } from "@bonsai-agent/messages";
import { type CurrentSpan, readCurrentSpan } from "@bonsai-agent/transcripts";
import {
  HOOK_AGENTS,
  type HookAgent,
  type HookRun,
  type HookState,
  logRun,
  recordWithoutSecrets,
  type ServedCompaction,
  StateFile,
} from "./hook-files.ts";

/** One call of the hook by another agent. */
export interface HookCall {
  agent: string | undefined;
  /** The JSON that the agent writes to the hook's input. */
  input: string;
  home: string;
  nowMs: () => number;
}

/** The fields of an agent's input that the hook reads. */
interface HookInput {
  event: string;
  sessionId: string;
  transcriptPath: string;
  source: unknown;
  summary: unknown;
}

const INSTRUCTIONS_TOKENS = 600;
/** About 10,000 characters of English text. */
export const MAX_TEXT_TOKENS = 2_800;
/** Limit of the second text, for facts that the summary and the first text leave out. */
const REST_TOKENS = 500;

/** New bytes of a transcript before a prompt reads ahead. */
const READ_AHEAD_BYTES = 1 << 20;

/** Claude Code accepts 10,000 characters, Codex 2,500 tokens of four bytes. Longer texts become a short preview. */
export const HOOK_LIMITS = {
  "claude-code": { maxSize: 9_900, sizeOf: (text: string) => text.length },
  codex: { maxSize: 9_900, sizeOf: (text: string) => Buffer.byteLength(text) },
};

/**
 * Answers one call of the hook with the text for the agent; empty for none. Never throws: an error is logged, and the
 * agent goes on without the text.
 */
export function answerHook(call: HookCall): string {
  const startMs = call.nowMs();
  const run: HookRun = { at: new Date(startMs).toISOString(), ...(call.agent && { agent: call.agent }) };
  let answer = "";
  try {
    const input = readInput(call.input);
    if (input === undefined) return "";
    run.event = input.event;
    run.sessionId = input.sessionId;
    const made = new HookSession(agentOf(call.agent), input, run, call).answer();
    if (made === undefined) return "";
    if (typeof made === "string") answer = made;
    else {
      run.added = { tokens: made.tokens, counts: made.counts };
      answer = made.text === "" ? "" : additionalContext(input.event, made.text);
    }
  } catch (error) {
    run.error = String(error);
  }
  run.durationMs = call.nowMs() - startMs;
  try {
    logRun(call.home, run);
  } catch {
    // Without a log, the answer still counts.
  }
  return answer;
}

function agentOf(name: string | undefined): HookAgent {
  const agent = HOOK_AGENTS.find((each) => each === name);
  if (agent === undefined) throw new Error(`Unknown agent: ${name}`);
  return agent;
}

/** Undefined for a call of a sub-agent, whose transcript is not the session's. */
function readInput(text: string): HookInput | undefined {
  const fields: unknown = JSON.parse(text);
  if (!isRecord(fields)) throw new Error("The input is not a JSON object.");
  if (fields.agent_id !== undefined) return undefined;
  const { hook_event_name: event, session_id: sessionId, transcript_path: transcriptPath } = fields;
  if (typeof event !== "string" || typeof sessionId !== "string" || typeof transcriptPath !== "string")
    throw new Error("The input lacks the event, the session or the transcript.");
  return { event, sessionId, transcriptPath, source: fields.source, summary: fields.compact_summary };
}

function additionalContext(hookEventName: string, text: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: text } });
}

/** The calls of one session. */
class HookSession {
  readonly #agent: HookAgent;
  readonly #input: HookInput;
  readonly #file: StateFile;
  readonly #nowMs: number;
  readonly #run: HookRun;
  readonly #state: HookState;

  constructor(agent: HookAgent, input: HookInput, run: HookRun, { home, nowMs }: HookCall) {
    this.#agent = agent;
    this.#input = input;
    this.#file = new StateFile(home, agent, input.sessionId);
    this.#nowMs = nowMs();
    this.#run = run;
    this.#state = this.#file.read();
  }

  /** The text, or the instructions for a summary; undefined if this event needs nothing. */
  answer(): GapText | string | undefined {
    switch (this.#input.event) {
      case "PreCompact":
        return this.#preCompact();
      case "PostCompact":
        return this.#postCompact();
      case "SessionStart":
        return this.#input.source === "compact" ? this.#sessionStart() : undefined;
      case "UserPromptSubmit":
        return this.#userPrompt();
      default:
        return undefined;
    }
  }

  #preCompact(): string {
    this.#state.compaction = { startedMs: this.#nowMs };
    try {
      return summaryInstructions(this.#recordOf(this.#readSpan(false)), INSTRUCTIONS_TOKENS);
    } finally {
      this.#save({});
      this.#file.removeOld(this.#nowMs);
    }
  }

  /** Runs after the start of the session in the versions of Claude Code that we know; the other order works too. */
  #postCompact(): string {
    const { summary } = this.#input;
    if (typeof summary !== "string") throw new Error("The input has no summary.");
    const { compaction } = this.#state;
    this.#save({ compaction: { ...(compaction?.isPosted ? {} : compaction), summary, isPosted: true } });
    return "";
  }

  /** Claude Code calls this before the summary is in the transcript, Codex after it. */
  #sessionStart(): GapText | undefined {
    const span = this.#readSpan(this.#agent === "codex");
    const recordedAt = span.compaction?.timestamp;
    const { compaction: latest = {} } = this.#state;
    const isServed = latest.added !== undefined;
    if (isServed && recordedAt !== undefined && latest.recordedAt === recordedAt) return undefined;
    const compaction = isServed ? {} : latest;
    const summary = compaction.summary ?? shownText(span) ?? this.#compactorSummary(compaction.startedMs);
    return this.#add(span, { ...compaction, ...(recordedAt !== undefined && { recordedAt }) }, summary);
  }

  /**
   * Adds the text if the start of the session did not. If it did without a known summary, adds the facts that both leave
   * out.
   */
  #userPrompt(): GapText | undefined {
    const { compaction } = this.#state;
    if (compaction?.summary === undefined || compaction.usedSummary) return this.#readAhead();
    const span = this.#readSpan(true);
    return this.#add(span, compaction, [compaction.summary, shownText(span) ?? ""].join("\n"));
  }

  /** Reads older parts ahead of the next compaction, so that its calls have less to read. */
  #readAhead(): undefined {
    // At the first prompt, there is no transcript yet.
    const size = statSync(this.#input.transcriptPath, { throwIfNoEntry: false })?.size ?? 0;
    if (size - (this.#state.readAheadTo ?? 0) < READ_AHEAD_BYTES) return;
    const span = this.#readSpan(false, "oldest");
    this.#recordOf(span);
    this.#save({ readAheadTo: span.parts.length > 0 ? span.place!.end : size });
  }

  #add(span: CurrentSpan, compaction: ServedCompaction, summary: string | undefined): GapText {
    const record = this.#recordOf(span);
    const { added = "" } = compaction;
    const lost = lostFacts(record, [summary ?? "", added].join("\n"));
    const maxTokens = added === "" ? MAX_TEXT_TOKENS : REST_TOKENS;
    const made = gapText(lost, {
      ...HOOK_LIMITS[this.#agent],
      maxTokens,
      ending: endingFor(this.#input.transcriptPath),
    });
    this.#save({
      compaction: {
        ...compaction,
        added: [added, made.text].join("\n"),
        ...(summary !== undefined && { usedSummary: true }),
      },
    });
    return made;
  }

  #readSpan(isRecorded: boolean, prefers: "oldest" | "newest" = "newest"): CurrentSpan {
    const after = this.#state.span?.parts?.place;
    return readCurrentSpan(this.#input.transcriptPath, { format: this.#agent, isRecorded, after, prefers });
  }

  /** The record after a span. Continues after the parts that an earlier call read. */
  #recordOf({ start, parts, place, messages, isContinued, skippedBytes }: CurrentSpan): GapRecord {
    const { span } = this.#state;
    const before = span?.start === start ? span.before : span?.after;
    let record = isContinued ? span?.parts?.record : before;
    // A later call reads the record from the state, which has no secrets.
    for (const part of parts) record = recordWithoutSecrets(gapRecord(record, part));
    const after = gapRecord(record, messages);
    this.#state.span = { start, before, parts: place && record && { place, record }, after };
    if (skippedBytes > 0) this.#run.skippedBytes = skippedBytes;
    return after;
  }

  #save(change: HookState): void {
    Object.assign(this.#state, change);
    this.#file.write(this.#state);
  }

  /** The answer of Claude Code's summariser, which has a transcript of its own before the summary is recorded. */
  #compactorSummary(startedMs = this.#nowMs - MAX_COMPACTOR_AGE_MS): string | undefined {
    if (this.#agent !== "claude-code") return undefined;
    const path = this.#input.transcriptPath;
    const folder = join(dirname(path), basename(path, ".jsonl"), "subagents");
    try {
      const files = readdirSync(folder)
        .filter((name) => name.startsWith("agent-acompact-") && name.endsWith(".jsonl"))
        .map((name) => ({ file: join(folder, name), mtimeMs: statSync(join(folder, name)).mtimeMs }))
        .filter(({ mtimeMs }) => mtimeMs >= startedMs - FILE_CLOCK_MS)
        .sort((a, b) => b.mtimeMs - a.mtimeMs);
      return files[0] && summaryIn(readFileSync(files[0].file, "utf8"));
    } catch {
      return undefined;
    }
  }
}

/** The clock of a file system can be this late. */
const FILE_CLOCK_MS = 20;
/** An older file belongs to an earlier compaction. */
const MAX_COMPACTOR_AGE_MS = 120_000;

/** The summary in the last answer of a summariser's transcript. */
function summaryIn(transcript: string): string | undefined {
  const line = transcript
    .trimEnd()
    .split("\n")
    .findLast((each) => each.includes('"type":"assistant"'));
  const { message } = JSON.parse(line ?? "{}") as { message?: { content?: { text?: string }[] } };
  const text = message?.content?.map((block) => block.text ?? "").join("\n") ?? "";
  return text.includes("<summary>") ? text.slice(text.indexOf("<summary>")) : undefined;
}

/** The texts of the context after a recorded compaction. */
function shownText({ compaction }: CurrentSpan): string | undefined {
  return compaction && [compaction.summary, compaction.restored].join("\n");
}

/** The last sentence of a text: names the tool and the command that find other facts. */
export function endingFor(transcriptPath: string): string {
  return `To find more of the earlier conversation, use the tool \`recall\` of the MCP server \`bonsai\` if you have it, or run \`bonsai search WORDS --in ${transcriptPath}\`.`;
}
