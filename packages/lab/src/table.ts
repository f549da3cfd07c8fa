import { count, counted, duration, usdText } from "@bonsai-agent/messages/numbers";
import { compactionCount, type LabRun, type PolicyResult } from "./run.ts";

/** The results with equal cells as one row, named after all its policies. */
export function tableRows(policies: readonly PolicyResult[]): PolicyResult[] {
  const groups = Map.groupBy(policies, (result) => labColumns.map(({ cell }) => cell(result)).join("\n"));
  return [...groups.values()].map((group) => ({
    ...group[0]!,
    policy: group.map(({ policy }) => policy).join(", "),
  }));
}

/** One sentence: the cheapest policy against the first one. */
export function headline({ assumed, policies }: LabRun): string {
  const [first] = policies;
  if (first === undefined) return "";
  const best = policies.reduce((cheapest, each) => (each.usd < cheapest.usd ? each : cheapest));
  const prices = assumed.length > 0 ? "At the prices of an average model, " : "";
  if (best === first || usdText(best.usd) === usdText(first.usd)) {
    const others = policies.length > 1 ? ", and no other policy would have cost less" : "";
    return `${prices}${first.policy} would have cost ${usdText(first.usd)}${others}.`;
  }
  const lessMs = (first.waitedSeconds - best.waitedSeconds) * 1_000;
  const waiting =
    lessMs === 0 ? "" : `, with ${duration(Math.abs(lessMs))} ${lessMs > 0 ? "less" : "more"} waiting`;
  return `${prices}${best.policy} would have cost ${usdText(best.usd)} instead of ${usdText(first.usd)} under ${first.policy}${waiting}.`;
}

/** Sentences about the limits of a replay. */
export function runNotes({ assumed, policies, unreachedWindows, recorded }: LabRun): string[] {
  const { missed, usd, highestTokens } = recorded;
  const tooLarge = policies.flatMap((each) =>
    each.tooLarge > 0 ? [`${each.policy} ${count(each.tooLarge)}`] : [],
  );
  const refused = policies.flatMap(({ noProvider, policy }) =>
    noProvider.map((reason) => ({ reason, policy })),
  );
  const refusals = Map.groupBy(refused, ({ reason }) => reason);
  const money = usd > 0 ? `about ${usdText(missed.usd)}` : "a part";
  const windows = unreachedWindows.map((tokens) => count(tokens)).join(", ");
  return [
    assumed.length > 0 &&
      `The prices or the window of ${assumed.join(", ")} are unknown. The replay uses those of an average model. Set the prices in models.json and the window with --window.`,
    unreachedWindows.length > 0 &&
      `Some recordings never filled the replayed window of ${windows} tokens: the largest recorded request has ${count(highestTokens)}. Policies that wait for a full window never compact there. Try a smaller one with --window.`,
    tooLarge.length > 0 &&
      `Requests larger than the window, which a provider would reject: ${tooLarge.join(", ")}.`,
    ...[...refusals].map(
      ([reason, each]) =>
        `The provider's compaction was not used under ${each.map(({ policy }) => policy).join(", ")}: ${reason}`,
    ),
    missed.requests > 0 &&
      `The provider dropped a cached prefix too early (${counted(missed.requests, "time")}). This caused ${money} of the recorded cost. Replays do not include it.`,
  ].filter((note) => note !== false);
}

interface Column {
  name: string;
  meaning: string;
  cell: (result: PolicyResult) => string;
}

/** The columns of a table of policies, after the policy's name. */
export const labColumns: readonly Column[] = [
  {
    name: "Total",
    meaning:
      "Cost of all requests with cache discounts, of summaries, and of losses: each repeated read and each recall is one more request.",
    cell: ({ usd }) => usdText(usd),
  },
  {
    name: "Waited",
    meaning: "Time that the user would have waited for summaries.",
    cell: ({ waitedSeconds }) => duration(waitedSeconds * 1_000),
  },
  {
    name: "Needed",
    meaning:
      "Share of the facts used later that the model still sees, at requests spread evenly over the session.",
    cell: ({ neededAlong }) => share(neededAlong),
  },
  {
    name: "Rereads",
    meaning: "Files that the agent read again after their content had left the context.",
    cell: ({ readAgain }) => String(readAgain),
  },
  {
    name: "Recalls",
    meaning: "Facts that the agent needed and that were nowhere in the context.",
    cell: ({ recalls }) => String(recalls),
  },
  {
    name: "Losses",
    meaning: "The part of the total for rereads and recalls.",
    cell: ({ lossesUsd }) => usdText(lossesUsd),
  },
  {
    name: "Summaries",
    meaning: "The part of the total for summaries.",
    cell: ({ summaries }) => usdText(summaries.usd),
  },
  {
    name: "Requests",
    meaning: "The part of the total for the agent's own requests.",
    cell: ({ usd, summaries, lossesUsd }) => usdText(usd - summaries.usd - lossesUsd),
  },
  {
    name: "Compactions",
    meaning: "Compactions at the threshold, at the economy size, and after an overflow.",
    cell: (result) => String(compactionCount(result)),
  },
  {
    name: "Masked",
    meaning: "Number of times that Bonsai only masked and did not compact.",
    cell: ({ masks }) => String(masks),
  },
  {
    name: "Highest",
    meaning: "Tokens of the largest request.",
    cell: ({ highestTokens }) => count(highestTokens),
  },
  {
    name: "After",
    meaning: "Share of the facts used later that the model still sees right after a compaction.",
    cell: ({ neededAfter }) => share(neededAfter),
  },
  {
    name: "Words",
    meaning: "Share of your own words that the model still sees after a compaction.",
    cell: ({ wordsKept }) => share(wordsKept),
  },
];

function share(value: number | null): string {
  return value === null ? "–" : value.toFixed(2);
}
