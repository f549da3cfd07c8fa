/** Messages between extensions, on channels that they agree on. */
export interface EventBus {
  /** Handlers run at once, in the order in which they came; one that throws is reported and disturbs no other. */
  emit(channel: string, data?: unknown): void;
  /** The function returned takes the handler out. */
  on(channel: string, handler: (data: unknown) => void | Promise<void>): () => void;
}
