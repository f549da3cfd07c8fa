import { type Message, redactSecrets } from "@bonsai-agent/messages";
import { strippedSummary } from "../carry/carry-over.ts";
import { storedDetails } from "../details.ts";
import { type CompactionPlan, legalCuts, startsTurn } from "../plan/cut.ts";
import { type ViewItem, viewTokens } from "../plan/view.ts";
import { type ProviderAnswer, type ProviderCompaction, SummaryFailure } from "../summariser.ts";
import { withoutThinking } from "./ask.ts";
import { providerInstructions, type SummaryJob } from "./prompt.ts";
import type { LadderState, Run, Rung } from "./run.ts";
import { carryOverOf, digestProse, jobFor, layDraft, planUpTo } from "./summary-rungs.ts";

/** Lets the provider compact on its side, if the settings ask for it. */
export const providerRung: Rung = {
  name: "provider",
  isForSummary: true,
  async attempt(state, run) {
    const { settings, summariser, skipsProvider } = run;
    if (settings.summarizer.kind !== "provider" || summariser === undefined || skipsProvider) return state;
    const { provider } = summariser;
    if (provider === undefined)
      throw new SummaryFailure("unsupported", `${summariser.name} has no provider that compacts.`);
    if (provider.unavailable !== undefined) throw new SummaryFailure("unsupported", provider.unavailable);
    if (run.focus !== undefined && provider.isSealed)
      throw new SummaryFailure("no-focus", `The compaction of ${summariser.name} takes no focus.`);
    const { answer, plan } = await compactSpan(state, run, provider);
    const planned = { ...state, plan };
    const { text, summary } = answer;
    const draft = {
      firstKeptEntryId: plan.firstKeptEntryId,
      rung: "provider" as const,
      focus: run.focus,
      provider: summary,
    };
    if (text === undefined) {
      const prose = await sealedProse(planned, run);
      return layDraft(planned, { ...draft, prose, isExtract: run.digest?.isExtract }, run);
    }
    const prose = providerProse(text, Object.keys(storedDetails(plan.previous).carryOver));
    return layDraft(planned, { ...draft, prose }, run);
  },
};

/** The prose of a provider's readable summary. @param tags those of extensions that the text may repeat */
function providerProse(text: string, tags: readonly string[] = []): string {
  return redactSecrets(strippedSummary(withoutThinking(text), tags));
}

/**
 * The provider's summary of a branch, as prose without its items: providers take items only at the start of a conversation.
 * Undefined if the settings ask for another kind, or the provider cannot write it.
 * @param onUnavailable called with the reason, in a sentence, if the provider cannot write it
 */
export async function providerBranchProse(
  job: SummaryJob,
  messages: readonly Message[],
  onUnavailable: (reason: string) => void,
): Promise<string | undefined> {
  const { provider, name, isExtract } = job.summariser;
  // The digest needs no provider.
  if (job.kind !== "provider" || isExtract) return undefined;
  if (provider === undefined || provider.unavailable !== undefined || provider.isSealed) {
    const sealed = `The summaries of ${name} are sealed, and a branch needs a readable one.`;
    onUnavailable(provider ? (provider.unavailable ?? sealed) : `${name} has no provider that compacts.`);
    return undefined;
  }
  const instructions = providerInstructions({ ...job, kind: "branch" });
  try {
    const { text, usage } = await provider.compact({
      kind: "branch",
      messages,
      instructions,
      signal: job.signal,
    });
    job.cost.addRequest(usage);
    return text && providerProse(text);
  } catch (error) {
    job.cost.addRequest(undefined);
    if (!(error instanceof SummaryFailure) || job.signal.aborted) throw error;
    onUnavailable(error.message);
    return undefined;
  }
}

/** Attempts with an earlier cut, after the provider refused the end of the span. */
const MAX_MOVES = 3;

/** Asks the provider. A span that may not end there ends before its last turn instead. */
async function compactSpan(
  state: LadderState,
  run: Run,
  provider: ProviderCompaction,
): Promise<{ answer: ProviderAnswer; plan: CompactionPlan }> {
  let plan = state.plan!;
  for (let moves = 0; ; moves += 1) {
    try {
      return { answer: await askProvider({ ...state, plan }, run, provider), plan };
    } catch (error) {
      const isOpen = error instanceof SummaryFailure && error.kind === "incomplete-turn";
      const earlier = isOpen && moves < MAX_MOVES ? earlierTurn(plan) : undefined;
      if (earlier === undefined) throw error;
      plan = planUpTo(plan, earlier);
    }
  }
}

async function askProvider(
  state: LadderState,
  run: Run,
  provider: ProviderCompaction,
): Promise<ProviderAnswer> {
  const { signal, cost, summariser } = run;
  const items = seenItems(state, run);
  const { contextWindow = 0 } = summariser!;
  if (contextWindow > 0 && viewTokens(items) > contextWindow)
    throw new SummaryFailure("does-not-fit", "The conversation does not fit the window of the model.");
  const { carriesUserWords } = jobFor(state, run, summariser!);
  const instructions = providerInstructions({ ...run, kind: "history", carriesUserWords });
  const messages = items.map(({ message }) => message);
  try {
    const answer = await provider.compact({ kind: "history", messages, instructions, signal });
    cost.addRequest(answer.usage);
    return answer;
  } catch (error) {
    cost.addRequest(undefined);
    throw error;
  }
}

/** The items before the cut, with the earlier summary. After an overflow, with the masks: the rest did not fit. */
function seenItems({ view, plan }: LadderState, run: Run): readonly ViewItem[] {
  const { items } = run.reason === "overflow" ? view : run.start.view;
  const at = items.findIndex(({ entryId }) => entryId === plan!.firstKeptEntryId);
  return at < 0 ? items : items.slice(0, at);
}

/** The first entry of the last turn before the cut; undefined if nothing would be left to summarise. */
function earlierTurn({ history, turnPrefix }: CompactionPlan): string | undefined {
  const items = [...history, ...turnPrefix];
  const legal = legalCuts(items.map(({ message }) => message));
  const at = items.findLastIndex(
    ({ message }, index) => index > 0 && legal[index] === true && startsTurn(message),
  );
  return items[at]?.entryId;
}

/** The digest, for readers that cannot read a sealed summary. */
function sealedProse(state: LadderState, run: Run): Promise<string> {
  const digest = run.digest!;
  return digestProse(state, run, { digest, carried: carryOverOf(state.plan!, run, run.focus) });
}
