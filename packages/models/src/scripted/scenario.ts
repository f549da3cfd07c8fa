import { basename } from "node:path";
import { BonsaiError, type Usage } from "@bonsai-agent/messages";
import { jsonProblem } from "@bonsai-agent/messages/host";
import { z } from "zod";
import { textFile } from "../json-file.ts";
import type { CatalogueModel } from "../model.ts";
import type { ProviderCall } from "../provider.ts";

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
  /** Tool calls after the text. Their ids are the next of `call-1`, `call-2`, … */
  calls?: readonly {
    name: string;
    /** Default `{}`. */
    arguments?: Record<string, unknown>;
    /** Sent instead of `arguments`, for arguments that are no JSON. */
    argumentsText?: string;
  }[];
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

const condition = z
  .strictObject({
    lastTool: z.string().min(1),
    lastToolFailed: z.boolean(),
    lastTextMatches: pattern,
    lastUserMatches: pattern,
    anyTextMatches: pattern,
  })
  .partial();

const error = z.strictObject({
  status: z.int().min(100).max(599).optional(),
  code: z.string().optional(),
  message: z.string(),
  retryAfterMs: z.number().nonnegative().optional(),
});

const answer = z
  .strictObject({
    when: condition,
    times: z.int().positive(),
    thinking: z.string(),
    text: z.string(),
    calls: z.array(call),
    stopReason: z.enum(["stop", "length", "toolUse"]),
    error,
    cut: z.boolean(),
    usage: z.strictObject({ input: tokens, output: tokens, cacheRead: tokens, cacheWrite: tokens }).partial(),
    delayMs: z.number().nonnegative(),
    chunkChars: z.int().positive(),
  })
  .partial();

const scenarioSchema = z.strictObject({
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

/**
 * Reads a scenario file.
 * @throws BonsaiError `scenario_unreadable`; `scenario_invalid`, which names file, key, value and allowed values
 */
export function readScenario(path: string): Scenario {
  let input: unknown;
  try {
    const text = textFile(path);
    if (text === undefined) throw new Error("the file does not exist");
    input = JSON.parse(text);
  } catch (cause) {
    throw new BonsaiError({
      code: "scenario_unreadable",
      message: `Cannot read the scenario ${path}: ${(cause as Error).message}.`,
      hint: "Write scripted/PATH with the path of a scenario file, or set the path as baseUrl of a scripted provider in models.json.",
      cause,
    });
  }
  const { error } = scenarioSchema.safeParse(input);
  if (error === undefined) return input as Scenario;
  throw new BonsaiError({
    /** A scenario file has an invalid value. The message names file, key and allowed values. */
    code: "scenario_invalid",
    message: jsonProblem({ error, input, schema: scenarioSchema, file: path }),
    hint: 'The smallest valid scenario is {"turn": [{"text": "Good day."}]}.',
    cause: error,
  });
}

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The model of a scenario file, with the sizes and prices in the file. Throws as `readScenario`. */
export function scenarioModel(path: string): CatalogueModel {
  const { contextWindow, maxOutputTokens, usdPerMillionTokens = FREE } = readScenario(path);
  return {
    provider: "scripted",
    id: path,
    name: basename(path),
    api: "scripted",
    baseUrl: path,
    input: ["text", "image"],
    reasoning: true,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens,
  };
}
