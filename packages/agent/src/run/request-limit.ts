import { BonsaiError } from "@bonsai-agent/messages";

/** A run that has made many requests since the user last said something. */
export interface LongRun {
  /** Since then, or since the user last let it go on. */
  requests: number;
  signal: AbortSignal;
}

/** Asks the user whether the run may go on; true lets it make as many requests again. */
export type ConfirmLongRun = (run: LongRun) => Promise<boolean>;

export interface RequestLimitOptions {
  /** 0 for none. */
  maxRequests: number;
  /** Absent where nobody can be asked: then the run ends. */
  confirm: ConfirmLongRun | undefined;
  signal: AbortSignal;
}

/**
 * How many requests a run makes on its own. Text beside tool calls is no word to the user that counts: nobody has to
 * read it for the run to go on. Owner of the count.
 */
export class RequestLimit {
  readonly #options: RequestLimitOptions;
  #requests = 0;

  constructor(options: RequestLimitOptions) {
    this.#options = options;
  }

  /** The user said something: counted anew from here. */
  userSpoke(): void {
    this.#requests = 0;
  }

  /** To be called before each request; the error with which the run ends, where it may not be made. */
  async before(): Promise<BonsaiError | undefined> {
    const { maxRequests, confirm, signal } = this.#options;
    if (maxRequests > 0 && this.#requests >= maxRequests) {
      const requests = this.#requests;
      const mayGoOn = (await confirm?.({ requests, signal })) ?? false;
      if (!mayGoOn) return tooManyRequests(requests);
      this.#requests = 0;
    }
    this.#requests += 1;
    return undefined;
  }
}

function tooManyRequests(requests: number): BonsaiError {
  return new BonsaiError({
    code: "run_request_limit",
    message: `The model was asked ${requests.toLocaleString("en")} times in a row without a word from you, and the work was stopped.`,
    hint: "What was done so far is kept: say go on to go on from here. The setting limits.runRequests moves the limit; 0 is none.",
  });
}
