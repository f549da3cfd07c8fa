/** Something about a handler that somebody should know and that did not stop the event. */
export type LifecycleNotice =
  | { type: "handler_error"; event: string; source: string; error: unknown }
  | { type: "slow_handler"; event: string; source: string; elapsedMs: number }
  | { type: "conflict"; event: string; field: string; sources: [earlier: string, later: string] }
  | {
      type: "invalid_result";
      event: string;
      source: string;
      received: string;
      /** Under the policy "cancel" it counts as a no; absent where it is left out. */
      isRefusal?: boolean;
    }
  | { type: "unknown_event"; event: string; source: string };

/** One sentence for people. */
export function describeNotice(notice: LifecycleNotice): string {
  const { event } = notice;
  switch (notice.type) {
    case "handler_error":
      return `${notice.source} failed in ${event}: ${errorText(notice.error)}`;
    case "slow_handler":
      return `${notice.source} has been busy with ${event} for ${Math.round(notice.elapsedMs / 1000)} s`;
    case "conflict": {
      const [earlier, later] = notice.sources;
      return `${earlier} and ${later} both set ${notice.field} in ${event}: ${later} stands`;
    }
    case "invalid_result":
      return `${notice.source} returned ${notice.received} from ${event}: ${notice.isRefusal ? "taken for a refusal" : "ignored"}`;
    case "unknown_event":
      return `${notice.source} listens to ${event}, which no event is called`;
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
