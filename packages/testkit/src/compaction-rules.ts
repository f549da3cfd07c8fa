import { isRecord } from "@bonsai-agent/messages";
import type { LoopbackRequest } from "./loopback-server.ts";

/** The reason why a server refuses a request. */
export class Refusal {
  readonly code: string;
  readonly message: string;

  constructor(code: string, message: string) {
    this.code = code;
    this.message = message;
  }
}

type Fields = Record<string, unknown>;

const invalid = (message: string) => new Refusal("invalid_request_error", message);

const BETA = "compact-2026-09-04";

/** Fields of a request, by the types of the SDK. Bonsai uses no others. */
const MESSAGES_FIELDS = new Set([
  ...[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "stream",
    "thinking",
    "output_config",
    "metadata",
  ],
  ...["cache_control", "compaction", "context_management", "stop_sequences", "temperature", "tool_choice"],
]);

/** Fields of the blocks of messages, by type. */
const BLOCK_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(["type", "text", "cache_control", "citations"]),
  image: new Set(["type", "source", "cache_control"]),
  thinking: new Set(["type", "thinking", "signature"]),
  redacted_thinking: new Set(["type", "data"]),
  tool_use: new Set(["type", "id", "name", "input", "cache_control"]),
  tool_result: new Set(["type", "tool_use_id", "content", "is_error", "cache_control"]),
  compaction: new Set(["type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"]),
};

/** Why Anthropic's API refuses a request; undefined for a valid one. */
export function anthropicProblem(
  { headers }: LoopbackRequest,
  body: Fields,
  verify: (block: Fields) => string | undefined,
): Refusal | undefined {
  const extra = Object.keys(body).find((name) => !MESSAGES_FIELDS.has(name));
  if (extra !== undefined) return invalid(`${extra}: Extra inputs are not permitted`);
  if (typeof body.max_tokens !== "number") return invalid("max_tokens: Field required");
  const messages = (Array.isArray(body.messages) ? body.messages : []).filter(isRecord);
  const placed = messages.flatMap(({ role, content }, at) =>
    blocksOf(content).map((block, index) => ({ role, block, isFirst: at === 0 && index === 0 })),
  );
  const wrong = placed.map(({ block }) => blockProblem(block)).find((problem) => problem !== undefined);
  if (wrong !== undefined) return invalid(wrong);
  const compactions = placed.filter(({ block }) => block.type === "compaction");
  const isBeta = String(headers["anthropic-beta"] ?? "")
    .split(",")
    .includes(BETA);
  if ((body.compaction !== undefined || compactions.length > 0) && !isBeta)
    return invalid(`compaction: needs the beta ${BETA}`);
  const filled = compactions.filter(({ block }) => block.content !== null);
  if (filled.length > 1) return new Refusal("compaction_block_ambiguous", "More than one compaction block.");
  const misplaced = compactions.some(({ isFirst, role }) => !isFirst || role !== "assistant");
  if (misplaced) return new Refusal("compaction_block_misplaced", "The compaction block is not first.");
  const code = filled[0] && verify(filled[0].block);
  if (code !== undefined) return new Refusal(code, `The compaction block was refused: ${code}.`);
  if (messages.length === 0 || (messages[0]!.role !== "user" && compactions.length === 0))
    return invalid("messages: first message must use the user role");
  return pairProblem(messages, body) ?? compactionProblem(body, messages);
}

function blocksOf(content: unknown): Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function blockProblem(block: Fields): string | undefined {
  const known = BLOCK_FIELDS[String(block.type)];
  if (known === undefined) return `unknown block type ${String(block.type)}`;
  const extra = Object.keys(block).find((name) => !known.has(name));
  if (extra !== undefined) return `${String(block.type)}.${extra}: Extra inputs are not permitted`;
  if (block.type === "text" && block.text === "") return "text content blocks must be non-empty";
  if (block.type === "compaction" && block.content === "") return "compaction.content must not be empty";
  return undefined;
}

/** Each call needs its result at the start of the next message. The last message of a compaction may lack it, see below. */
function pairProblem(messages: readonly Fields[], { compaction }: Fields): Refusal | undefined {
  const open = messages.findIndex(({ content, role }, at) => {
    if (role !== "assistant" || (at === messages.length - 1 && compaction !== undefined)) return false;
    const calls = blocksOf(content).filter(({ type }) => type === "tool_use");
    const results = new Set(blocksOf(messages[at + 1]?.content).map(({ tool_use_id: id }) => id));
    return calls.some(({ id }) => !results.has(id));
  });
  if (open >= 0) return invalid(`messages.${open}: tool_use ids were found without tool_result blocks`);
  const calls = new Set(messages.flatMap(({ content }) => blocksOf(content).map(({ id }) => id)));
  const results = messages
    .flatMap(({ content }) => blocksOf(content))
    .filter(({ type }) => type === "tool_result");
  return results.every(({ tool_use_id: id }) => calls.has(id))
    ? undefined
    : invalid("unexpected tool_use_id");
}

function compactionProblem(body: Fields, messages: readonly Fields[]): Refusal | undefined {
  const { compaction, context_management: management, stop_sequences: stops, output_config: output } = body;
  if (compaction === undefined) return undefined;
  if (!isRecord(compaction) || compaction.type !== "summarize")
    return invalid("compaction.type: must be summarize");
  const extra = Object.keys(compaction).find((name) => name !== "type" && name !== "instructions");
  if (extra !== undefined) return invalid(`compaction.${extra}: Extra inputs are not permitted`);
  const isMixed = management !== undefined || stops !== undefined || (isRecord(output) && "format" in output);
  if (isMixed) return invalid("compaction cannot be combined with these fields");
  const blocks = messages.flatMap(({ content }) => blocksOf(content));
  if (blocks.every(({ type }) => type === "compaction"))
    return new Refusal("compaction_nothing_to_summarize", "There is nothing to summarize.");
  const { role, content } = messages.at(-1)!;
  const isOpen = role === "assistant" && blocksOf(content).some(({ type }) => type === "tool_use");
  return isOpen ? new Refusal("compaction_incomplete_turn", "The last turn is not finished.") : undefined;
}

const COMPACT_FIELDS = new Set([
  ...[
    "model",
    "input",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_options",
    "service_tier",
    "image",
  ],
]);

const RESPONSES_FIELDS = new Set([
  ...["model", "input", "instructions", "tools", "max_output_tokens", "stream", "store", "prompt_cache_key"],
  ...[
    "reasoning",
    "include",
    "text",
    "prompt_cache_options",
    "tool_choice",
    "parallel_tool_calls",
    "service_tier",
  ],
]);

/** Why OpenAI's API refuses a request; undefined for a valid one, and for a local server, which is lenient. */
export function openAiProblem(
  { path }: LoopbackRequest,
  body: Fields,
  verify: (sealed: unknown) => string | undefined,
): Refusal | undefined {
  if (!path.includes("/responses")) return undefined;
  const isCompaction = path.endsWith("/compact");
  const known = isCompaction ? COMPACT_FIELDS : RESPONSES_FIELDS;
  const extra = Object.keys(body).find((name) => !known.has(name));
  if (extra !== undefined) return new Refusal("unknown_parameter", `Unknown parameter: '${extra}'.`);
  if (typeof body.model !== "string") return new Refusal("missing_required_parameter", "Missing: 'model'.");
  const items = (Array.isArray(body.input) ? body.input : []).filter(isRecord);
  if (items.length === 0) return new Refusal("missing_required_parameter", "Missing: 'input'.");
  const sealed = items.filter(({ type }) => type === "compaction");
  const wrong = sealed.flatMap((item) => Object.keys(item)).find((name) => !SEALED_FIELDS.has(name));
  if (wrong !== undefined) return new Refusal("unknown_parameter", `Unknown parameter: 'input.${wrong}'.`);
  const code = sealed.map((item) => verify(item.encrypted_content)).find((each) => each !== undefined);
  if (code !== undefined)
    return new Refusal(code, "The encrypted content of the compaction item could not be verified.");
  const outputs = new Set(
    items.filter(({ type }) => type === "function_call_output").map(({ call_id: id }) => id),
  );
  const open = items.find(({ type, call_id: id }) => type === "function_call" && !outputs.has(id));
  return (
    open && new Refusal("invalid_value", `No tool output found for function call ${String(open.call_id)}.`)
  );
}

const SEALED_FIELDS = new Set(["type", "id", "encrypted_content"]);
