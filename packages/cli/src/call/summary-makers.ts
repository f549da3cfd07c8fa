import { setImmediate as turn } from "node:timers/promises";
import { digestSummariser, type runCompaction, type Summariser } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

type CompactionLifecycle = NonNullable<Parameters<typeof runCompaction>[0]["lifecycle"]>;

interface SummaryMakersOptions {
  invocation: Invocation;
  /** What is summarised. */
  session: Session;
  /** Interrupts the command. */
  signal: AbortSignal;
  /** Called before an extension shows or asks something. */
  onShow: () => void;
}

/** Who has a say in a summary besides the digest. */
export interface SummaryMakers {
  /** The model that `--model` names. */
  summariser?: Summariser;
  /** The extensions that `-e` names. */
  lifecycle?: CompactionLifecycle;
  /** The extension whose word stood in a field of an event's decision; nothing where none had the last word. */
  decidedBy(field: "compaction" | "summary" | "cancel" | undefined): { decidedBy?: string };
}

/**
 * Does something with the model and the extensions that a command names, between the notices that the
 * session starts and ends, which the extensions get. What was not named is not loaded.
 * @throws BonsaiError for a name that means no model, and an extension that cannot be loaded; then nothing is done
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
  const { summariser } = await namedModel(invocation, reference);
  return work({ ...digestAlone, summariser });
}

const digestAlone: SummaryMakers = { decidedBy: () => ({}) };

async function withExtensions<Result>(
  { invocation, ...options }: SummaryMakersOptions,
  reference: string | undefined,
  work: (makers: SummaryMakers) => Promise<Result>,
): Promise<Result> {
  const [{ openSessionExtensions }, { findModel, modelSummariser }] = await Promise.all([
    import("./session-extensions.ts"),
    import("./model-choice.ts"),
  ]);
  const opened = await openSessionExtensions({
    ...options,
    // None but those that are named: a command on a file does the same wherever it runs.
    invocation: { ...invocation, options: { ...invocation.options, extensions: false } },
    ...(reference !== undefined && { findModel: (models) => findModel(models, reference) }),
  });
  if (opened === undefined) return work(digestAlone);
  try {
    const { model, lifecycle, models } = opened;
    const summariser = model && modelSummariser((await models()).client, model, invocation.output);
    return await work({ ...watched(lifecycle), ...(summariser && { summariser }) });
  } finally {
    await opened.close();
  }
}

/** A lifecycle, and who decided by it. */
function watched(lifecycle: CompactionLifecycle): Required<Pick<SummaryMakers, "lifecycle" | "decidedBy">> {
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

/**
 * The built-in digest. It works in one go, in which no signal reaches the process: a turn of the event loop before
 * and after lets Ctrl-C in while nothing is written yet.
 */
export function interruptibleDigest(): Summariser {
  const digest = digestSummariser();
  const { summarise } = digest;
  // In its place: a copy would pass for a summariser like any other.
  digest.summarise = async (request) => {
    await turn();
    const answer = await summarise(request);
    await turn();
    return answer;
  };
  return digest;
}
