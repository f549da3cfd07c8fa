import { readContext } from "@bonsai-agent/compaction";
import { contextSizeOf } from "@bonsai-agent/compaction/host";
import type { Message, TokenEstimator } from "@bonsai-agent/messages";
import { messageParts, type Session } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { leafOf, openNamedSession } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { bar, kindStyle, type Line, paragraph, type Style, span, table } from "../views/line.ts";
import { counted, percents, scopeText, sizeSource, sizeText, tokenDigits } from "../views/numbers.ts";
import { callsOf, kindWord, previewSpan } from "../views/preview.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const size = contextSize(session, invocation, leafId);
  const tokens = size.messageTokens();
  const { items } = session.projection(leafId);
  const rows = items.map(({ entryId, message }, at): ContextItem => {
    return { entryId, role: message.role, tokens: tokens[at]!, message };
  });
  const { output } = invocation;
  const economy = output.wantsJson ? undefined : await economyOf(session, invocation, leafId);
  await output.list(
    () => rows,
    () => contextView(rows, { size, leafId, economy, width: output.width }),
  );
}

/** Where the economy has the session compacted, in a sentence; undefined where it is off, or nobody knows the session's model. */
async function economyOf(
  session: Session,
  invocation: Invocation,
  leafId: string | null,
): Promise<string | undefined> {
  const settings = callSettings(invocation);
  if (!settings.enabled || settings.economy === "off") return undefined;
  const [{ economyText }, { knownCatalogue }] = await Promise.all([
    import("../views/economy-text.ts"),
    import("../call/page-source.ts"),
  ]);
  const latest = session.projection(leafId).items.findLast(({ message }) => message.role === "assistant");
  if (latest?.message.role !== "assistant") return undefined;
  const { provider, model: id } = latest.message;
  const { io, output } = invocation;
  const { models } = await knownCatalogue(io, (notice) => output.notify(notice));
  const model = models.find((each) => each.provider === provider && each.id === id);
  const text = model && economyText({ session, leafId, settings, model, nowMs: io.now() });
  return text && `The economy ${text}.`;
}

/** How large the context is at one place of a session. */
export interface ContextSize {
  /** Counts tokens as compaction does. */
  estimator: TokenEstimator;
  items: number;
  /** System prompt and tools, as the session's usage taught them; 0 where it did not. */
  overheadTokens: number;
  /** The whole request: as the provider reported it last, where that can be trusted. */
  tokens: number;
  /** True where no report can be trusted. */
  isEstimate: boolean;
  /** The estimated part of `tokens`. */
  estimatedTokens: number;
  /** What each message takes of `tokens`, in order: they add up to it, less what is fixed. */
  messageTokens(): number[];
}

export function contextSize(
  session: Session,
  invocation: Invocation,
  leafId: string | null = session.leafId,
): ContextSize {
  const reading = readContext({ session, estimator: callSettings(invocation).estimator, leafId });
  const { estimator } = reading;
  const { items } = reading.projection;
  return {
    estimator,
    items: items.length,
    overheadTokens: reading.overheadTokens(),
    tokens: reading.tokens,
    isEstimate: reading.source === "estimate",
    estimatedTokens: reading.trailingTokens,
    messageTokens() {
      const estimated = items.map(({ message }) => estimator.message(message));
      const estimatedTokens = estimated.reduce((sum, tokens) => sum + tokens, 0);
      return contextSizeOf({ reading, estimatedTokens }).shares(estimated);
    },
  };
}

/** One item of `bonsai session context --json`. */
export interface ContextItem {
  entryId: string;
  role: string;
  /** Estimated. */
  tokens: number;
  message: Message;
}

/** What the model sees: the items in order, then where the tokens of the next request go. */
function* contextView(
  items: readonly ContextItem[],
  of: { size: ContextSize; leafId: string | null; economy: string | undefined; width: number },
): Generator<Line> {
  const { size, leafId, economy, width } = of;
  if (items.length > 0) {
    yield* itemTable(items, width);
    yield [];
  }
  yield* paragraph(`${counted(items.length, "item")} at ${leafId ?? "the beginning"}`, width, "bold");
  if (size.tokens > 0) yield* shares(items, size, width);
  if (economy !== undefined) yield* paragraph(economy, width, "gray");
}

function itemTable(items: readonly ContextItem[], width: number): Iterable<Line> {
  const narrow = width < 60;
  const calls = callsOf(items.map(({ message }) => message));
  const cellsOf = ({ entryId, role, tokens, message }: ContextItem, at: number): Line[] => {
    const kind = kindWord(role);
    const preview = previewSpan(messageParts(message, calls[at]), kind === "result" ? "gray" : undefined);
    const cells: Line[] = [[tokenDigits(tokens, true)], [span(kind, kindStyle(kind))], [preview]];
    return narrow ? cells : [[span(entryId, "gray")], ...cells];
  };
  const rows = {
    *[Symbol.iterator]() {
      for (const [at, item] of items.entries()) yield cellsOf(item, at);
    },
  };
  const columns = [{}, { align: "right" }, {}, { flexible: true }] as const;
  return table(rows, { columns: narrow ? columns.slice(1) : columns, width });
}

const glyphs = ["█", "▓", "▒", "░", "▚", "▞"];
/** A damaged file can have as many roles as messages. */
const maxRoles = 8;

interface Share {
  name: string;
  tokens: number;
  style?: Style | undefined;
}

/** One bar for each role, and all of them in one; they add up to the tokens of `bonsai session show`. */
function* shares(items: readonly ContextItem[], size: ContextSize, width: number): Generator<Line> {
  const roles = byRole(items);
  const beside = size.tokens - roles.reduce((sum, { tokens }) => sum + tokens, 0);
  const all = beside > 0 ? [...roles, { name: besideName, tokens: beside, style: "gray" as const }] : roles;
  const parts = all.map(({ name, tokens, style }, at) => {
    return { name, value: tokens, style, glyph: name === besideName ? "·" : (glyphs[at] ?? glyphs.at(-1)!) };
  });
  const percentages = percents(parts.map(({ value }) => value));
  const rows = parts.map(({ name, value, glyph, style }, at): Line[] => [
    [span(glyph, style)],
    [name],
    [tokenDigits(value, true)],
    [percentages[at]!],
    [name === besideName && width >= 60 ? span("including estimation errors", "gray") : ""],
  ]);
  const columns = [{}, {}, { align: "right" }, { align: "right" }, {}] as const;
  yield bar(parts, { width: Math.min(width, 80) });
  yield* table(rows, { columns, width });
  yield [span(sizeText(size), "bold"), " in all", span(`  ${sizeSource(size)}`, "gray")];
  const scope = scopeText({ fixedTokens: beside, isEstimate: size.isEstimate });
  if (scope !== undefined) yield* paragraph(scope, width, "gray");
}

const besideName = "prompt and tools";

/** Tokens by role, most first; beyond so many roles the rest is one. */
function byRole(items: readonly ContextItem[]): Share[] {
  const sums = new Map<string, number>();
  for (const item of items) {
    const role = kindWord(item.role);
    sums.set(role, (sums.get(role) ?? 0) + item.tokens);
  }
  const sorted = [...sums].sort((a, b) => b[1] - a[1]);
  const shown = sorted.slice(0, maxRoles).map(([name, tokens]) => ({ name, tokens, style: kindStyle(name) }));
  const others = sorted.slice(maxRoles).reduce((sum, [, tokens]) => sum + tokens, 0);
  return others > 0 ? [...shown, { name: "others", tokens: others, style: undefined }] : shown;
}
