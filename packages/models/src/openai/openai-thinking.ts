import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import type { CatalogueModel, Effort, ThinkingLevel } from "../model.ts";
import { effortOf, openAiServer } from "./openai-servers.ts";

/** The fields of Chat Completions for thinking. */
export interface ChatThinking {
  thinking?: { type: "disabled" | "enabled" };
  reasoning?: { effort: Effort } | { enabled: boolean };
  reasoning_effort?: Effort;
}

/** The thinking fields for a model's server; empty if it has none. */
export function chatThinking(model: CatalogueModel, level: ThinkingLevel): ChatThinking {
  if (!model.reasoning) return {};
  const server = openAiServer(model);
  const isSwitched = server.thinkingSwitch?.test(model.id) ?? false;
  const switched: ChatThinking = isSwitched
    ? { thinking: { type: level === "off" ? "disabled" : "enabled" } }
    : {};
  const effort = effortOf(server.efforts, model.id, level);
  const isEnabled = { enabled: level !== "off" };
  if (server.reasoningSwitch?.test(model.id))
    return { reasoning: isEnabled, ...(isEnabled.enabled && effort && { reasoning_effort: effort }) };
  if (effort === undefined || (level === "off" && isSwitched)) return switched;
  if (server.effortField === "reasoning") return level === "off" ? {} : { reasoning: { effort } };
  return { ...switched, reasoning_effort: effort };
}

type ResponsesThinking = Pick<ResponseCreateParamsStreaming, "include" | "reasoning">;

/** The same for the Responses API. Models without thinking refuse `include`. */
export function responsesThinking(model: CatalogueModel, level: ThinkingLevel): ResponsesThinking {
  if (!model.reasoning) return {};
  const { efforts } = openAiServer(model);
  const effort = effortOf(efforts, model.id, level) ?? (level === "off" ? undefined : fallback(level));
  const include = { include: ["reasoning.encrypted_content" as const] };
  if (effort === undefined) return include;
  if (effort === "none") return { ...include, reasoning: { effort } };
  return { ...include, reasoning: { effort: effort === "default" ? "medium" : effort, summary: "auto" } };
}

/** The efforts of every thinking model. */
function fallback(level: Exclude<ThinkingLevel, "off">): "low" | "medium" | "high" {
  if (level === "minimal") return "low";
  return level === "xhigh" ? "high" : level;
}
