import { basename } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { parseSettings } from "@bonsai-agent/messages/host";
import { z } from "zod";
import { textFile } from "../json-file.ts";
import type { CatalogueModel } from "../model.ts";
import type { ProviderCall } from "../provider.ts";

const pattern = z.string().refine(isPattern, "a regular expression").optional();
const tokens = z.int().nonnegative();
const price = z.number().nonnegative();

const condition = z.strictObject({
  /** The tool of the latest result after the latest answer. */
  lastTool: z.string().min(1).optional(),
  /** Matches the text of the last message. */
  lastTextMatches: pattern,
  /** Matches the text of the user's last message. */
  lastUserMatches: pattern,
  /** Matches the text of any message, system prompt included. */
  anyTextMatches: pattern,
  /** True: the latest tool result is a failure. */
  lastToolFailed: z.boolean().optional(),
});

const call = z.strictObject({
  name: z.string().min(1),
  /** Default `{}`. */
  arguments: z.record(z.string(), z.unknown()).optional(),
  /** Sent instead of `arguments`, for arguments that are no JSON. */
  argumentsText: z.string().optional(),
});

const error = z.strictObject({
  status: z.int().min(100).max(599).optional(),
  code: z.string().optional(),
  message: z.string(),
  retryAfterMs: z.number().nonnegative().optional(),
});

const answer = z.strictObject({
  /** The answer is for the first matching request. Default: answers are given in order. */
  when: condition.optional(),
  /** Maximum uses of an answer with a condition. Default 1. */
  times: z.int().positive().optional(),
  /** Before the text. */
  thinking: z.string().optional(),
  /** Streamed in pieces. */
  text: z.string().optional(),
  /** Tool calls after the text. Their ids are the next of `call-1`, `call-2`, … */
  calls: z.array(call).readonly().optional(),
  /** Default: "toolUse" with calls, else "stop". */
  stopReason: z.enum(["stop", "length", "toolUse"]).optional(),
  /** Refuses the request as a provider would. */
  error: error.optional(),
  /** Breaks the connection in the middle of the last piece of the answer. */
  cut: z.boolean().optional(),
  /** Default: estimated from the request, with a cached prefix. */
  usage: z
    .strictObject({ input: tokens, output: tokens, cacheRead: tokens, cacheWrite: tokens })
    .partial()
    .optional(),
  /** Wait before each piece of the answer. Default 0. */
  delayMs: z.number().nonnegative().optional(),
  /** Characters of a piece. Default 24. */
  chunkChars: z.int().positive().optional(),
});

const answers = z.array(answer).readonly();

const scenarioSchema = z.strictObject({
  $schema: z.string().optional(),
  note: z.string().optional(),
  /** Tokens. A longer request is refused. Default: the model's. */
  contextWindow: z.int().positive().optional(),
  /** Tokens. */
  maxOutputTokens: z.int().positive().optional(),
  /** Default: it costs nothing. */
  usdPerMillionTokens: z
    .strictObject({ input: price, output: price, cacheRead: price, cacheWrite: price })
    .optional(),
  /** Answers to turns of the conversation. */
  turn: answers,
  /** Answers to requests for a summary. Default: none. */
  summary: answers.optional(),
  /** Answers to requests for a title. Default: none. */
  title: answers.optional(),
  /** Answers to requests of extensions. Default: none. */
  extension: answers.optional(),
  /** The reaction to a request after the last answer of a list. Default "error". */
  atEnd: z.enum(["error", "repeat"]).optional(),
});

/** The condition of an answer. All its parts must match. Texts are regular expressions. */
export type ScenarioCondition = z.infer<typeof condition>;

/** The answer of a scripted model to one request. */
export type ScenarioAnswer = z.infer<typeof answer>;

/** The answers of a scripted model, by the purpose of the request. */
export type Scenario = z.infer<typeof scenarioSchema>;

/** Answers a request, for tests and demonstrations that inspect requests. */
export type ScriptedModel = (call: ProviderCall) => ScenarioAnswer;

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
  const error = ({ message, cause }: { message: string; cause?: unknown }) =>
    new BonsaiError({
      /** A scenario file has an invalid value. The message names file, key and allowed values. */
      code: "scenario_invalid",
      message,
      cause,
      hint: 'The smallest valid scenario is {"turn": [{"text": "Good day."}]}.',
    });
  parseSettings(scenarioSchema, input, { file: path, error });
  return input as Scenario;
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
