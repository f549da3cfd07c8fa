import { requestOverhead } from "@bonsai-agent/agent/host";
import {
  budgetsFor,
  type CompactionSettings,
  contextLimit,
  type ModelSizes,
  readContext,
} from "@bonsai-agent/compaction";
import { contextSizeOf } from "@bonsai-agent/compaction/host";
import type { TokenEstimator } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";
import { messageParts as lineParts, type ProjectionItem, type Session } from "@bonsai-agent/session";
import { isMasked } from "@bonsai-agent/session/host";
import { economyText } from "../../views/economy-text.ts";
import { callsOf, kindWord, type Preview } from "../../views/preview.ts";

/** One kind of thing that a request holds. */
export interface ContextPart {
  /** `system prompt`, `skills`, `instructions`, `tools`, or the word for a kind of message. */
  name: string;
  tokens: number;
  /** Skills, files, tools or messages. */
  items: number;
  /** Tool results among them that a mask has cleared. */
  maskedItems: number;
  /** The paths of the instructions; none for other parts. */
  files?: readonly string[];
}

/** One message, for the list of the largest. */
interface LargeItem {
  entryId: string;
  kind: string;
  tokens: number;
  preview: Preview;
}

/** How the window is divided, in tokens. Used, free and reserve add up to the window while what is used fits into it. */
export interface ContextWindow {
  windowTokens: number;
  /** Left before compaction begins; where that is switched off, left of the window. */
  freeTokens: number;
  /** What compaction keeps free, as far as it is free still. */
  reserveTokens: number;
  /** One token more calls for compaction; undefined where automatic compaction is off. */
  thresholdTokens: number | undefined;
  /** What `compaction.economy` makes of that, in words; undefined where one of them is off. */
  economy?: string | undefined;
}

/**
 * Where the tokens of the next request are.
 * Invariant: the parts and `unexplainedTokens` add up to `totalTokens`. Where less was read than is estimated, all parts
 * share what was read.
 */
export interface ContextReport {
  /** Estimated, in the order of the request; none is empty. */
  parts: readonly ContextPart[];
  /** What the provider reported beyond the estimates of the parts. */
  unexplainedTokens: number;
  totalTokens: number;
  /** True where no report of the provider can be trusted. */
  isEstimate: boolean;
  /** The estimated part of `totalTokens`: all of it, or what came after the last answer. */
  estimatedTokens: number;
  /** Undefined where the model's window is unknown. */
  window: ContextWindow | undefined;
  /** The largest messages first, at most ten. */
  largest: readonly LargeItem[];
}

export interface ContextReportOptions {
  session: Session;
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
  settings: CompactionSettings;
  model: ModelSizes;
  /** Milliseconds since the epoch. */
  nowMs: number;
}

const LARGEST = 10;

export function contextReport(options: ContextReportOptions): ContextReport {
  const { session, settings, model } = options;
  const { items } = session.projection();
  const fixed = requestOverhead(options);
  const fixedTexts = () => fixed.texts;
  const reading = readContext({ session, estimator: settings.estimator, fixedTexts, model });
  const { estimator, tokens, source, trailingTokens } = reading;
  const estimated = [...fixedParts(fixed, estimator), ...messageParts(items, estimator)];
  const size = contextSizeOf({ reading, estimatedTokens: sumOf(estimated) });
  const shares = size.shares(estimated.map(({ tokens }) => tokens));
  const parts = estimated
    .map((part, at) => ({ ...part, tokens: shares[at]! }))
    .filter(({ tokens }) => tokens > 0);
  return {
    parts,
    unexplainedTokens: size.fixedTokens,
    totalTokens: tokens,
    isEstimate: source === "estimate",
    estimatedTokens: trailingTokens,
    window: windowOf(options, reading, fixedTexts),
    largest: largestOf(items, estimator, size),
  };
}

function sumOf(parts: readonly ContextPart[]): number {
  return parts.reduce((sum, part) => sum + part.tokens, 0);
}

/** What stands before the messages of every request. */
function fixedParts(
  { prompt, skills, instructions, tools }: ReturnType<typeof requestOverhead>,
  estimator: TokenEstimator,
): ContextPart[] {
  const part = (name: string, texts: readonly string[]): ContextPart => ({
    name,
    tokens: texts.reduce((sum, text) => sum + estimator.text(text), 0),
    items: texts.length,
    maskedItems: 0,
  });
  return [
    part("system prompt", [prompt]),
    { ...part("skills", [skills]), items: skills.split("\n- ").length - 1 },
    {
      ...part(
        "instructions",
        instructions.map(({ text }) => text),
      ),
      files: instructions.map(({ path }) => path),
    },
    part("tools", tools),
  ];
}

/** The kinds in the order in which they stand; others follow. */
const kinds = ["summary", "branch", "user", "assistant", "result", "command", "extension"];

function messageParts(items: readonly ProjectionItem[], estimator: TokenEstimator): ContextPart[] {
  const parts = new Map<string, ContextPart>(
    kinds.map((name) => [name, { name, tokens: 0, items: 0, maskedItems: 0 }]),
  );
  for (const { message, edit } of items) {
    const name = kindWord(message.role);
    const part = parts.get(name) ?? { name, tokens: 0, items: 0, maskedItems: 0 };
    part.tokens += estimator.message(message);
    part.items += 1;
    if (edit !== undefined && isMasked(message)) part.maskedItems += 1;
    parts.set(name, part);
  }
  return [...parts.values()];
}

function windowOf(
  options: ContextReportOptions,
  reading: ReturnType<typeof readContext>,
  fixedTexts: () => readonly string[],
): ContextWindow | undefined {
  const { settings, model, nowMs } = options;
  const budgets = budgetsFor({ settings, model });
  const { windowTokens } = budgets;
  if (windowTokens === undefined) return undefined;
  const { tokens: totalTokens } = reading;
  const threshold = settings.enabled
    ? contextLimit({ settings, model, budgets, reading, nowMs })?.compactAboveTokens
    : undefined;
  const limit = Math.min(threshold ?? windowTokens, windowTokens);
  const hasEconomy = settings.enabled && settings.economy !== "off";
  return {
    windowTokens,
    freeTokens: Math.max(0, limit - totalTokens),
    reserveTokens: Math.max(0, windowTokens - Math.max(limit, totalTokens)),
    thresholdTokens: threshold,
    ...(hasEconomy && { economy: economyText({ ...options, fixedTexts }) }),
  };
}

function largestOf(
  items: readonly ProjectionItem[],
  estimator: TokenEstimator,
  size: ReturnType<typeof contextSizeOf>,
): LargeItem[] {
  const calls = callsOf(items.map(({ message }) => message));
  return items
    .map(({ entryId, message }, at) => ({
      entryId,
      message,
      call: calls[at],
      tokens: size.ofEstimate(estimator.message(message)),
    }))
    .sort((one, other) => other.tokens - one.tokens)
    .slice(0, LARGEST)
    .map(({ entryId, message, call, tokens }) => ({
      entryId,
      kind: kindWord(message.role),
      tokens,
      preview: lineParts(message, call),
    }));
}
