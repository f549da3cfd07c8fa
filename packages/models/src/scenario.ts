import type { Usage } from "@bonsai-agent/messages";
import type { ProviderCall } from "./provider.ts";

/** What a scripted model says to one request. */
export interface ScenarioAnswer {
  thinking?: string;
  text?: string;
  /** Ids are given in order: `call-1`, `call-2`, … */
  calls?: readonly { name: string; arguments: Record<string, unknown> }[];
  /** Default: "toolUse" with calls, else "stop". */
  stopReason?: "stop" | "length" | "toolUse";
  /** Refuses the request in the way of a provider. */
  error?: { status?: number; code?: string; message: string };
  /** Default: estimated from the request, with a cached prefix. */
  usage?: Partial<Usage>;
  /** Wait before each piece of the answer. Default 0. */
  delayMs?: number;
  /** Characters of a piece. Default 24. */
  chunkChars?: number;
}

/** A scripted model's part, by the purpose of the request; each list is played in order. */
export interface Scenario {
  contextWindow?: number;
  maxOutputTokens?: number;
  usdPerMillionTokens?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  turn: readonly ScenarioAnswer[];
  summary?: readonly ScenarioAnswer[];
  title?: readonly ScenarioAnswer[];
  /** What comes after the last answer of a list. Default "error". */
  atEnd?: "error" | "repeat";
}

/** Answers a request; for tests and demonstrations that look at what was asked. */
export type ScriptedModel = (call: ProviderCall) => ScenarioAnswer;
