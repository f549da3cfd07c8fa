/** What kept an answer from being a summary. */
export type SummaryFailureKind =
  | "empty"
  | "refused"
  | "tool-call"
  | "length"
  | "aborted"
  | "error"
  | "no-sections"
  | "too-large"
  | "does-not-fit";

/** A summariser's answer, or the lack of one, that cannot be stored as a summary. Rungs catch it. */
export class SummaryFailure extends Error {
  readonly kind: SummaryFailureKind;
  /** True when the summariser itself found the request too long. */
  readonly overflow: boolean;

  constructor(
    kind: SummaryFailureKind,
    message: string,
    options: { cause?: unknown; overflow?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SummaryFailure";
    this.kind = kind;
    this.overflow = options.overflow ?? false;
  }
}
