/** Tools run side by side; a user answers one question at a time. */
export function oneAfterTheOther(): <Answer>(ask: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const answer = last.then(ask);
    last = answer.catch(() => {});
    return answer;
  };
}
