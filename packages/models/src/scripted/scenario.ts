import type { Usage } from "@bonsai-agent/messages";
import { z } from "zod";
import type { ProviderCall } from "../provider.ts";

/** A tool call in an answer. Its id is the next of `call-1`, `call-2`, … */
export interface ScenarioCall {
  name: string;
  /** Default `{}`. */
  arguments?: Record<string, unknown>;
  /** Sent instead of `arguments`, for arguments that are no JSON. */
  argumentsText?: string;
}

/** The condition of an answer. All its parts must match. Texts are regular expressions. */
export interface ScenarioCondition {
  /** The tool of the latest result after the latest answer. */
  lastTool?: string;
  /** Matches the text of the last message. */
  lastTextMatches?: string;
  /** Matches the text of the user's last message. */
  lastUserMatches?: string;
  /** Matches the text of any message, system prompt included. */
  anyTextMatches?: string;
  /** True: the latest tool result is a failure. */
  lastToolFailed?: boolean;
}

/** The answer of a scripted model to one request. */
export interface ScenarioAnswer {
  /** The answer is for the first matching request. Default: answers are given in order. */
  when?: ScenarioCondition;
  /** Maximum uses of an answer with a condition. Default 1. */
  times?: number;
  /** Before the text. */
  thinking?: string;
  /** Streamed in pieces. */
  text?: string;
  /** After the text. */
  calls?: readonly ScenarioCall[];
  /** Default: "toolUse" with calls, else "stop". */
  stopReason?: "stop" | "length" | "toolUse";
  /** Refuses the request as a provider would. */
  error?: { status?: number; code?: string; message: string; retryAfterMs?: number };
  /** Breaks the connection in the middle of the last piece of the answer. */
  cut?: boolean;
  /** Default: estimated from the request, with a cached prefix. */
  usage?: Partial<Usage>;
  /** Wait before each piece of the answer. Default 0. */
  delayMs?: number;
  /** Characters of a piece. Default 24. */
  chunkChars?: number;
}

/** The answers of a scripted model, by the purpose of the request. */
export interface Scenario {
  /** Tokens. A longer request is refused. Default: the model's. */
  contextWindow?: number;
  /** Tokens. */
  maxOutputTokens?: number;
  /** Default: it costs nothing. */
  usdPerMillionTokens?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  /** Answers to turns of the conversation. */
  turn: readonly ScenarioAnswer[];
  /** Answers to requests for a summary. Default: none. */
  summary?: readonly ScenarioAnswer[];
  /** Answers to requests for a title. Default: none. */
  title?: readonly ScenarioAnswer[];
  /** Answers to requests of extensions. Default: none. */
  extension?: readonly ScenarioAnswer[];
  /** The reaction to a request after the last answer of a list. Default "error". */
  atEnd?: "error" | "repeat";
}

/** Answers a request, for tests and demonstrations that inspect requests. */
export type ScriptedModel = (call: ProviderCall) => ScenarioAnswer;

const pattern = z.string().refine(isPattern, "a regular expression");
const tokens = z.int().nonnegative();
const price = z.number().nonnegative();

const call = z.strictObject({
  name: z.string().min(1),
  arguments: z.record(z.string(), z.unknown()).optional(),
  argumentsText: z.string().optional(),
});

const condition = z.strictObject({
  lastTool: z.string().min(1).optional(),
  lastToolFailed: z.boolean().optional(),
  lastTextMatches: pattern.optional(),
  lastUserMatches: pattern.optional(),
  anyTextMatches: pattern.optional(),
});

const answer = z.strictObject({
  when: condition.optional(),
  times: z.int().positive().optional(),
  thinking: z.string().optional(),
  text: z.string().optional(),
  calls: z.array(call).optional(),
  stopReason: z.enum(["stop", "length", "toolUse"]).optional(),
  error: z
    .strictObject({
      status: z.int().min(100).max(599).optional(),
      code: z.string().optional(),
      message: z.string(),
      retryAfterMs: z.number().nonnegative().optional(),
    })
    .optional(),
  cut: z.boolean().optional(),
  usage: z
    .strictObject({
      input: tokens.optional(),
      output: tokens.optional(),
      cacheRead: tokens.optional(),
      cacheWrite: tokens.optional(),
    })
    .optional(),
  delayMs: z.number().nonnegative().optional(),
  chunkChars: z.int().positive().optional(),
});

export const scenarioSchema = z.strictObject({
  $schema: z.string().optional(),
  note: z.string().optional(),
  contextWindow: z.int().positive().optional(),
  maxOutputTokens: z.int().positive().optional(),
  usdPerMillionTokens: z
    .strictObject({ input: price, output: price, cacheRead: price, cacheWrite: price })
    .optional(),
  turn: z.array(answer),
  summary: z.array(answer).optional(),
  title: z.array(answer).optional(),
  extension: z.array(answer).optional(),
  atEnd: z.enum(["error", "repeat"]).optional(),
});

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "m");
    return true;
  } catch {
    return false;
  }
}
