import { requestOverhead } from "@bonsai-agent/agent/host";
import {
  budgetsFor,
  type CompactionSettings,
  contextLimit,
  type ModelSizes,
  readContext,
  settingsForModel,
} from "@bonsai-agent/compaction";
import { contextSizeOf } from "@bonsai-agent/compaction/host";
import type { Message, TokenEstimator } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";
import type { ProjectionItem, Session } from "@bonsai-agent/session";
import { isMasked } from "@bonsai-agent/session/host";
import { economyText } from "./economy-text.ts";
import { kindOf, kindWord } from "./preview.ts";

/** One kind of content of a request. */
export interface ContextPart {
  /** `system prompt`, `skills`, `instructions`, `tools`, or the word for a kind of message. */
  name: string;
  tokens: number;
  /** Skills, files, tools or messages. */
  items: number;
  /** Masked tool results among them. */
  maskedItems: number;
  /** The paths of the instructions; none for other parts. */
  files?: readonly string[];
  /** True if the model also sees a summary that only its provider can read. Default: false. */
  hasSealedSummary?: boolean;
}

export interface ContextItem {
  entryId: string;
  role: string;
  /** Estimated. */
  tokens: number;
  message: Message;
}

/** The parts of the window, in tokens. Used, free and reserve add up to the window if the context fits into it. */
export interface ContextWindow {
  windowTokens: number;
  /** Free before compaction begins; without automatic compaction, free in the window. */
  freeTokens: number;
  /** The unused part of the space that compaction keeps free. */
  reserveTokens: number;
  /** More tokens start a compaction; undefined without automatic compaction. */
  thresholdTokens: number | undefined;
  /** The effect of `compaction.economy`, in words; undefined if it is off. */
  economy?: string | undefined;
}

/**
 * The parts of the next request, in tokens.
 * Invariant: the parts and `unexplainedTokens` add up to `totalTokens`. If the provider counted less than the estimate, all
 * parts share its count.
 */
export interface ContextReport {
  /** The messages in order. */
  items: readonly ContextItem[];
  /** Estimated, in the order of the request; none is empty. */
  parts: readonly ContextPart[];
  /** Tokens that the provider counted beyond the estimates: without a request, system prompt and tools too. */
  unexplainedTokens: number;
  /** True if the system prompt and the tools are parts. */
  hasOverhead: boolean;
  totalTokens: number;
  /** True without a provider's count that can be trusted. */
  isEstimate: boolean;
  /** The estimated part of `totalTokens`. */
  estimatedTokens: number;
  /** Undefined if the model's window is unknown. */
  window: ContextWindow | undefined;
}

export interface ContextReportOptions {
  session: Session;
  /** Default: the session's leaf. */
  leafId?: string | null | undefined;
  /** The parts of each request besides messages. Default: unknown, as for a session without an agent. */
  overhead?: { systemPrompt: string; tools: readonly ToolDeclaration[] } | undefined;
  settings: CompactionSettings;
  /** Default: unknown. */
  model?: ModelSizes | undefined;
  /** Milliseconds since the epoch. */
  nowMs: number;
}

/** Counts the context by the kinds of its content. */
export function contextReport(options: ContextReportOptions): ContextReport {
  const { session, leafId, settings, model } = options;
  const fixed = options.overhead && requestOverhead(options.overhead);
  const fixedTexts = fixed && (() => fixed.texts);
  const reading = readContext({ session, leafId, estimator: settings.estimator, fixedTexts, model });
  const { estimator, tokens: totalTokens, source, trailingTokens } = reading;
  const { items } = reading.projection;
  const fixedEstimates = fixed === undefined ? [] : fixedParts(fixed, estimator);
  const estimated = [
    ...fixedEstimates.map(({ tokens }) => tokens),
    ...items.map(({ message }) => estimator.message(message)),
  ];
  const size = contextSizeOf({
    reading,
    estimatedTokens: estimated.reduce((sum, tokens) => sum + tokens, 0),
  });
  const shares = size.shares(estimated);
  const tokensOf = (at: number) => shares[at + fixedEstimates.length]!;
  const parts = [
    ...fixedEstimates.map((part, at) => ({ ...part, tokens: shares[at]! })),
    ...messageParts(items, tokensOf),
  ];
  return {
    items: items.map(({ entryId, message }, at) => ({
      entryId,
      role: message.role,
      tokens: tokensOf(at),
      message,
    })),
    parts: parts.filter(({ tokens }) => tokens > 0),
    unexplainedTokens: size.fixedTokens,
    hasOverhead: fixed !== undefined,
    totalTokens,
    isEstimate: source === "estimate",
    estimatedTokens: trailingTokens,
    window: windowOf(options, reading, fixedTexts),
  };
}

/** The size of the context at the leaf. */
export function contextSize(session: Session, { estimator }: CompactionSettings) {
  const reading = readContext({ session, estimator });
  return {
    estimator: reading.estimator,
    items: reading.projection.items.length,
    /** System prompt and tools, as learned from the session's usage; 0 if unknown. */
    overheadTokens: reading.overheadTokens(),
    tokens: reading.tokens,
    isEstimate: reading.source === "estimate",
    estimatedTokens: reading.trailingTokens,
  };
}

/** The parts before the messages of every request. */
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

/** The kinds in the order of the report; others follow. */
const kinds = ["summary", "branch", "user", "assistant", "result", "command", "extension"];

function messageParts(items: readonly ProjectionItem[], tokensOf: (at: number) => number): ContextPart[] {
  const empty = (name: string): ContextPart => ({ name, tokens: 0, items: 0, maskedItems: 0 });
  const parts = new Map(kinds.map((name) => [name, empty(name)]));
  for (const [at, { entry, message, edit }] of items.entries()) {
    const name = message.role === "custom" ? kindOf(entry) : kindWord(message.role);
    const part = parts.get(name) ?? empty(name);
    part.tokens += tokensOf(at);
    part.items += 1;
    if (edit !== undefined && isMasked(message)) part.maskedItems += 1;
    if (message.role === "compactionSummary" && message.provider?.isSealed) part.hasSealedSummary = true;
    parts.set(name, part);
  }
  return [...parts.values()];
}

function windowOf(
  options: ContextReportOptions,
  reading: ReturnType<typeof readContext>,
  fixedTexts: (() => readonly string[]) | undefined,
): ContextWindow | undefined {
  const { model, nowMs } = options;
  if (model === undefined) return undefined;
  const settings = settingsForModel(options.settings, model);
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
    ...(hasEconomy && { economy: economyText({ ...options, model, fixedTexts }) }),
  };
}
