import { readFileSync } from "node:fs";
import {
  type Calibration,
  calibrate,
  chars4Estimator,
  estimateTokens,
  inputTokens,
  type Message,
  messageText,
  tokenEstimator,
} from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { type BenchTable, recordedSession } from "@bonsai-agent/testkit";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { sampleTexts } from "../test/sample-texts.ts";
import { calibratedEstimator, estimateOf, simulatedSession } from "../test/simulated-session.ts";

/** Estimates over true counts: of o200k for texts, of what the provider reported for the recorded session. */
export default async function bench(): Promise<BenchTable> {
  return {
    title: "Token estimates as ratio to the true count (1 is right, below 1 is too low)",
    columns: ["text", "characters", "tokens", "chars4", "byScript", "calibrated"],
    rows: [...textRows(), ...recordedRows()],
    notes: [
      "calibrated: learned from the first half of the text as a session's messages, asked about the second half: what is left is how the halves differ",
      "recorded session, texts: tool results, users' and models' words against o200k",
      "recorded session, last request: against the usage that the provider reported; calibrated on the first 100 messages",
      speedNote(),
    ],
  };
}

/** The rows that are the same on every machine. */
export function textRows(): string[][] {
  return sampleTexts().map(({ name, text }) => textRow(name, text));
}

function textRow(name: string, text: string): string[] {
  const half = Math.floor(text.length / 2);
  const [first, second] = [text.slice(0, half), text.slice(half)];
  const counts = (sample: string) => encode(sample).length;
  const texts = Array.from({ length: 40 }, () => first);
  const calibration = calibrate({
    messages: simulatedSession({ texts, counts, overheadTokens: 1500 }),
    base: tokenEstimator,
  });
  const calibrated = calibratedEstimator(calibration).text(second) / counts(second);
  const tokens = counts(text);
  return [
    name,
    String(text.length),
    String(tokens),
    ratio(chars4Estimator.text(text) / tokens),
    ratio(estimateTokens(text) / tokens),
    ratio(calibrated),
  ];
}

function recordedRows(): string[][] {
  const file = recordedSession();
  if (file === undefined) return [];
  const messages: Message[] = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : (JSON.parse(line).message ?? [])));
  return [recordedTextRow(messages), recordedRequestRow(messages)];
}

function recordedTextRow(messages: readonly Message[]): string[] {
  const texts = messages.map(messageText);
  const sum = (count: (text: string) => number) => texts.reduce((total, text) => total + count(text), 0);
  const tokens = sum((text) => encode(text).length);
  const characters = sum((text) => text.length);
  return [
    "recorded session, texts",
    String(characters),
    String(tokens),
    ratio(sum(chars4Estimator.text) / tokens),
    ratio(sum(estimateTokens) / tokens),
    "–",
  ];
}

function recordedRequestRow(messages: readonly Message[]): string[] {
  const last = messages.findLastIndex(isGoodAnswer);
  const answer = messages[last];
  const reported = answer?.role === "assistant" ? inputTokens(answer.usage) : 0;
  const before = messages.slice(0, last);
  const calibration: Calibration = calibrate({
    messages: messages.slice(0, 100),
    base: tokenEstimator,
  });
  const calibrated = calibration.overheadTokens + estimateOf(before, calibratedEstimator(calibration));
  return [
    "recorded session, last request",
    "–",
    String(reported),
    ratio(estimateOf(before, chars4Estimator) / reported),
    ratio(estimateOf(before, tokenEstimator) / reported),
    ratio(calibrated / reported),
  ];
}

function speedNote(): string {
  const text = sampleTexts()
    .map((sample) => sample.text)
    .join("\n")
    .repeat(300);
  estimateTokens(text.slice(0, 200_000));
  const started = performance.now();
  estimateTokens(text);
  const seconds = (performance.now() - started) / 1000;
  const megabytes = Buffer.byteLength(text) / 1e6;
  return `byScript: ${Math.round(megabytes / seconds)} MB/s on all texts together`;
}

function ratio(value: number): string {
  return value.toFixed(2);
}
