/** A problem of a handler that did not stop the event. */
export type LifecycleNotice =
  | { type: "handler_error"; event: string; source: string; error: unknown }
  | {
      type: "slow_handler";
      event: string;
      source: string;
      elapsedMs: number;
      /** True if the event continues without the handler. Default false. */
      isPassed?: boolean;
    }
  | { type: "conflict"; event: string; field: string; sources: [earlier: string, later: string] }
  | {
      type: "invalid_result";
      event: string;
      source: string;
      received: string;
      /** True if it counts as a refusal, under the policy "cancel". Default: it is ignored. */
      isRefusal?: boolean;
    }
  | { type: "unknown_event"; event: string; source: string };

/** The notice as one sentence. */
export function describeNotice(notice: LifecycleNotice): string {
  const { event } = notice;
  switch (notice.type) {
    case "handler_error":
      return `${notice.source} failed in ${event}: ${errorText(notice.error)}`;
    case "slow_handler":
      return `${notice.source} has been handling ${event} for ${Math.round(notice.elapsedMs / 1000)} s${notice.isPassed ? ". Bonsai continues without waiting for it" : ""}`;
    case "conflict": {
      const [earlier, later] = notice.sources;
      return `${earlier} and ${later} both set ${notice.field} in ${event}. Using the value of ${later}`;
    }
    case "invalid_result":
      return `${notice.source} returned ${notice.received} from ${event}: ${notice.isRefusal ? "treated as a refusal" : "ignored"}`;
    case "unknown_event":
      return `${notice.source} listens to ${event}, which is not an event`;
  }
}

/** The message of a thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
