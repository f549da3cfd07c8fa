/** Owner of what stands before the requests: made anew for each run, then as extensions left it until the run ends. */
export class SystemPromptInUse {
  readonly #make: () => string;
  #ofRun: string | undefined;

  constructor(make: () => string) {
    this.#make = make;
  }

  /** Without what extensions make of it for one run. */
  fresh(): string {
    return this.#make();
  }

  get current(): string {
    return this.#ofRun ?? this.#make();
  }

  runBegins(prompt: string): void {
    this.#ofRun = prompt;
  }

  runEnded(): void {
    this.#ofRun = undefined;
  }
}
