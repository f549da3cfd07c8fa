import { createHmac } from "node:crypto";
import { isRecord } from "@bonsai-agent/messages";
import { anthropicProblem, openAiProblem, Refusal } from "./compaction-rules.ts";
import { type LoopbackReply, type LoopbackRequest, loopbackServer, sseChunks } from "./loopback-server.ts";
import { type WireAnswer, type WireName, wires } from "./model-wires.ts";

export interface CompactionServerOptions {
  /** The answer to a request that is no compaction. Default: "Done." */
  answer?: (request: LoopbackRequest, index: number) => WireAnswer;
  /**
   * The text of a summary; null for a failed one. `stopReason`: Anthropic's, instead of "compaction". Default: all headings,
   * with the number of the compaction.
   */
  summary?: (request: LoopbackRequest, index: number) => string | null | { text: string; stopReason: string };
  /** The code of an error to return instead: one of Anthropic's `compaction_…`, or any other. Default: none. */
  refuse?: (request: LoopbackRequest, index: number) => string | undefined;
}

export interface CompactionServer {
  url: string;
  /** Earlier requests, oldest first, with the kind of each. */
  requests: readonly (LoopbackRequest & { kind: "turn" | "compaction"; wire: WireName })[];
  /** The usage of each compaction, in the vendor's own words, oldest first. */
  usages: readonly Record<string, unknown>[];
  close(): Promise<void>;
}

/**
 * Both vendors' APIs with compaction, and a local server's, on the loopback device. Strict: refuses what the types of the
 * SDKs forbid, and blocks that it has not signed.
 */
export async function compactionServer(options: CompactionServerOptions = {}): Promise<CompactionServer> {
  const requests: (LoopbackRequest & { kind: "turn" | "compaction"; wire: WireName })[] = [];
  const usages: Record<string, unknown>[] = [];
  const { answer = () => ({ text: "Done." }), summary = usualSummary, refuse = () => undefined } = options;
  const server = await loopbackServer((request) => {
    const index = requests.length;
    const wire = wireOf(request.path);
    const body = isRecord(request.body) ? request.body : {};
    const isCompaction = request.path.endsWith("/responses/compact") || isRecord(body.compaction);
    requests.push({ ...request, kind: isCompaction ? "compaction" : "turn", wire });
    const code = refuse(request, index);
    if (code !== undefined) return refused(wire, new Refusal(code, `Refused: ${code}.`));
    const problem =
      wire === "anthropic-messages"
        ? anthropicProblem(request, body, verifyBlock)
        : openAiProblem(request, body, verifySeal);
    if (problem !== undefined) return refused(wire, problem);
    if (!isCompaction) return streamed(wires[wire].answer(withUsage(answer(request, index), body)));
    const made = summary(request, usages.length);
    const { text, stopReason } =
      typeof made === "string" || made === null ? { text: made, stopReason: "compaction" } : made;
    const reply =
      wire === "anthropic-messages"
        ? anthropicCompaction(body, text, stopReason)
        : openAiCompaction(body, text ?? "");
    usages.push(reply.usage);
    return reply.reply;
  });
  return { url: server.url, requests, usages, close: server.close };
}

function wireOf(path: string): WireName {
  if (path.includes("/messages")) return "anthropic-messages";
  return path.includes("/responses") ? "openai-responses" : "openai-chat";
}

function usualSummary(_request: LoopbackRequest, index: number): string {
  const sections = [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
  ];
  return sections
    .map((section) => `## ${section}\n- ${section} of provider summary ${index + 1}`)
    .join("\n\n");
}

const SECRET = "a key of this server";

function sign(text: string): string {
  return createHmac("sha256", SECRET).update(text).digest("hex").slice(0, 32);
}

/** Checks a block against its signature, which records the text and the changes of tools. */
function verifyBlock({
  content,
  signature,
  tool_changes: changes,
}: Record<string, unknown>): string | undefined {
  const [text, tools, mac] = String(signature).split(".");
  if (mac === undefined || mac !== sign(`${text}.${tools}`)) return "compaction_signature_invalid";
  if (text !== sign(String(content))) return "compaction_content_mismatch";
  return tools === sign(JSON.stringify(changes ?? [])) ? undefined : "compaction_tool_changes_mismatch";
}

function signature(content: string): string {
  const signed = `${sign(content)}.${sign("[]")}`;
  return `${signed}.${sign(signed)}`;
}

function seal(text: string): string {
  const encoded = Buffer.from(text).toString("base64url");
  return `${encoded}.${sign(encoded)}`;
}

function verifySeal(sealed: unknown): string | undefined {
  const [encoded = "", mac] = String(sealed).split(".");
  return mac === sign(encoded) ? undefined : "invalid_encrypted_content";
}

/** Four characters a token: the counts of this server. */
function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function withUsage(answer: WireAnswer, body: Record<string, unknown>): WireAnswer {
  if ("usage" in answer) return answer;
  const input = tokensOf(body.messages ?? body.input) + tokensOf(body.tools ?? []);
  return { ...answer, usage: { input, output: tokensOf(answer.text ?? "") } };
}

function anthropicCompaction(body: Record<string, unknown>, content: string | null, stopReason: string) {
  const pass = {
    type: "compaction",
    input_tokens: tokensOf(body.messages),
    output_tokens: tokensOf(content),
    cache_read_input_tokens: 7,
    cache_creation_input_tokens: 11,
    cache_creation: { ephemeral_5m_input_tokens: 8, ephemeral_1h_input_tokens: 3 },
  };
  // The top-level counts do not contain the pass.
  const usage = { input_tokens: 0, output_tokens: 0, iterations: [pass] };
  const shell = {
    ...{ type: "compaction", content: null, encrypted_content: null },
    ...(content !== null && { signature: signature(content), tool_changes: [] }),
  };
  const reply = streamed([
    named({
      type: "message_start",
      message: { id: "msg_c", type: "message", role: "assistant", model: body.model, content: [], usage },
    }),
    named({ type: "content_block_start", index: 0, content_block: shell }),
    named({
      type: "content_block_delta",
      index: 0,
      delta: { type: "compaction_delta", content, encrypted_content: content && `meta-${sign(content)}` },
    }),
    named({ type: "content_block_stop", index: 0 }),
    named({ type: "message_delta", delta: { stop_reason: stopReason }, usage }),
    named({ type: "message_stop" }),
  ]);
  return { reply, usage: pass };
}

function openAiCompaction({ input }: Record<string, unknown>, text: string) {
  const usage = {
    input_tokens: tokensOf(input),
    input_tokens_details: { cached_tokens: 5 },
    output_tokens: tokensOf(text),
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: tokensOf(input) + tokensOf(text),
  };
  const items = (Array.isArray(input) ? input : []).filter(isRecord);
  const users = items.filter(({ role }) => role === "user");
  const output = [
    ...users.map(({ content }, index) => ({
      type: "message",
      role: "user",
      id: `msg_${index}`,
      status: "completed",
      content,
    })),
    { type: "compaction", id: `cmp_${sign(text).slice(0, 8)}`, encrypted_content: seal(text) },
  ];
  const body = { id: "resp_c", object: "response.compaction", created_at: 0, output, usage };
  return { reply: json(200, body), usage };
}

function named(data: { type: string } & Record<string, unknown>) {
  return { event: data.type, data };
}

function streamed(events: Parameters<typeof sseChunks>[0]): LoopbackReply {
  return { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
}

function json(status: number, body: object): LoopbackReply {
  return { status, headers: { "content-type": "application/json" }, chunks: [JSON.stringify(body)] };
}

/** An error as the vendor writes it. */
function refused(wire: WireName, { code, message }: Refusal): LoopbackReply {
  const isBusy = code === "compaction_unavailable";
  if (wire !== "anthropic-messages")
    return json(isBusy ? 503 : 400, { error: { message, type: "invalid_request_error", code, param: null } });
  const type = isBusy ? "overloaded_error" : "invalid_request_error";
  const details = code.startsWith("compaction_") ? { error_code: code } : undefined;
  return json(isBusy ? 529 : 400, { type: "error", error: { type, message, ...(details && { details }) } });
}
