/** Marks errors of Bonsai across two copies of this package. */
const marker = Symbol.for("bonsai.error");

export interface BonsaiErrorOptions {
  /** Stable, snake_case; one documented row each in docs/reference/errors.md. */
  code: string;
  /** The problem and the received value. */
  message: string;
  /** The fix. */
  hint: string;
  cause?: unknown;
}

/** Every error of Bonsai that reaches a user. */
export class BonsaiError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly [marker] = true;

  constructor(options: BonsaiErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BonsaiError";
    this.code = options.code;
    this.hint = options.hint;
  }

  /** True for a BonsaiError of any copy of this package. */
  static is(error: unknown): error is BonsaiError {
    return typeof error === "object" && error !== null && marker in error;
  }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
