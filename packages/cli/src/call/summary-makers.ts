import { setImmediate as turn } from "node:timers/promises";
import { digestSummariser, type runCompaction, type Summariser } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

type CompactionLifecycle = NonNullable<Parameters<typeof runCompaction>[0]["lifecycle"]>;

interface SummaryMakersOptions {
  invocation: Invocation;
  session: Session;
  signal: AbortSignal;
  onShow: () => void;
}

/** The model and the extensions that take part in a summary. */
export interface SummaryMakers {
  /** The model of `--model`. */
  summariser?: Summariser;
  /** With `summariser`: called with the reason if the provider cannot write the summary of a branch. */
  onProviderUnavailable?(reason: string): void;
  /** The extensions of `-e`. */
  lifecycle?: CompactionLifecycle;
  /** The extension that decided a field of an event's result; empty without one. */
  decidedBy(field: "compaction" | "summary" | "cancel" | undefined): { decidedBy?: string };
}

/**
 * Runs work with the model and extensions of a command. Loads only named ones.
 * @throws BonsaiError for an unknown model or a broken extension; then nothing is done
 */
export async function withSummaryMakers<Result>(
  options: SummaryMakersOptions,
  work: (makers: SummaryMakers) => Promise<Result>,
): Promise<Result> {
  const { invocation } = options;
  const { model, extension } = invocation.options;
  const reference = typeof model === "string" ? model : undefined;
  if (extension !== undefined) return withExtensions(options, reference, work);
  if (reference === undefined) return work(digestAlone);
  const { namedModel } = await import("./model-choice.ts");
  const { summariser, onProviderUnavailable } = await namedModel(invocation, reference);
  return work({ ...digestAlone, summariser, onProviderUnavailable });
}

const digestAlone: SummaryMakers = { decidedBy: () => ({}) };

async function withExtensions<Result>(
  { invocation, ...options }: SummaryMakersOptions,
  reference: string | undefined,
  work: (makers: SummaryMakers) => Promise<Result>,
): Promise<Result> {
  const [{ openSessionExtensions }, { findModel, modelSummaries }] = await Promise.all([
    import("./session-extensions.ts"),
    import("./model-choice.ts"),
  ]);
  const opened = await openSessionExtensions({
    ...options,
    // Only named extensions: a command on a file must not depend on the folder.
    invocation: { ...invocation, options: { ...invocation.options, extensions: false } },
    ...(reference !== undefined && { findModel: (models) => findModel(models, reference) }),
  });
  if (opened === undefined) return work(digestAlone);
  try {
    const { model, lifecycle, models } = opened;
    const ofModel = model && modelSummaries((await models()).client, model, invocation.output);
    return await work({ ...recordDecisions(lifecycle), ...ofModel });
  } finally {
    await opened.close();
  }
}

function recordDecisions(
  lifecycle: CompactionLifecycle,
): Required<Pick<SummaryMakers, "lifecycle" | "decidedBy">> {
  let sources: Readonly<Record<string, string | undefined>> = {};
  const decide: CompactionLifecycle["decide"] = async (name, payload, options) => {
    const decision = await lifecycle.decide(name, payload, options);
    sources = { ...sources, ...(name === "session_before_mask" ? {} : decision.sources) };
    return decision;
  };
  return {
    lifecycle: {
      decide,
      notify: (name, payload, options) => lifecycle.notify(name, payload, options),
      hasHandlers: (name) => lifecycle.hasHandlers(name),
    },
    decidedBy(field) {
      const name = field && sources[field];
      return name === undefined ? {} : { decidedBy: name };
    },
  };
}

/** The built-in digest. It blocks, so a turn of the event loop before and after it lets Ctrl-C in. */
export function interruptibleDigest(): Summariser {
  const digest = digestSummariser();
  const { summarise } = digest;
  // Changed in place: a copy would not count as the built-in digest.
  digest.summarise = async (request) => {
    await turn();
    const answer = await summarise(request);
    await turn();
    return answer;
  };
  return digest;
}
