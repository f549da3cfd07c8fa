import type { Usage } from "@bonsai-agent/messages";
import type { ProviderCall } from "../provider.ts";

/** A call of a tool in an answer. Ids are given in order: `call-1`, `call-2`, … */
export interface ScenarioCall {
  name: string;
  /** Default `{}`. */
  arguments?: Record<string, unknown>;
  /** Sent as it is in the place of `arguments`: for arguments that are no JSON. */
  argumentsText?: string;
}

/** What must hold of a request for an answer to be given; each part that is there must hold. Texts are regular expressions. */
export interface ScenarioCondition {
  /** The name of the tool whose result came last, behind the last answer. */
  lastTool?: string;
  /** Matches the text of the last message. */
  lastTextMatches?: string;
  /** Matches the text of the user's last message. */
  lastUserMatches?: string;
  /** Matches the text of any message, system prompt included. */
  anyTextMatches?: string;
  /** Whether the last tool result is a failure. */
  lastToolFailed?: boolean;
}

/** What a scripted model says to one request. */
export interface ScenarioAnswer {
  /** Without it the answer waits for its turn in the list; with it, for a request of this kind. */
  when?: ScenarioCondition;
  /** How often an answer with a condition may be given. Default 1. */
  times?: number;
  thinking?: string;
  text?: string;
  calls?: readonly ScenarioCall[];
  /** Default: "toolUse" with calls, else "stop". */
  stopReason?: "stop" | "length" | "toolUse";
  /** Refuses the request in the way of a provider. */
  error?: { status?: number; code?: string; message: string; retryAfterMs?: number };
  /** Breaks the connection off in the middle of the last piece of the answer. */
  cut?: boolean;
  /** Default: estimated from the request, with a cached prefix. */
  usage?: Partial<Usage>;
  /** Wait before each piece of the answer. Default 0. */
  delayMs?: number;
  /** Characters of a piece. Default 24. */
  chunkChars?: number;
}

/** A scripted model's part, by the purpose of the request. */
export interface Scenario {
  contextWindow?: number;
  maxOutputTokens?: number;
  usdPerMillionTokens?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  turn: readonly ScenarioAnswer[];
  summary?: readonly ScenarioAnswer[];
  title?: readonly ScenarioAnswer[];
  extension?: readonly ScenarioAnswer[];
  /** What comes after the last answer of a list. Default "error". */
  atEnd?: "error" | "repeat";
}

/** Answers a request; for tests and demonstrations that look at what was asked. */
export type ScriptedModel = (call: ProviderCall) => ScenarioAnswer;
