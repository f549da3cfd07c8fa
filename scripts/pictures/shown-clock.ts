// Loaded before `bonsai`: it then begins at the moment that BONSAI_PICTURES_AT says, so that ages and dates in pictures are
// the same in each making.
const RealDate = Date;
const shiftMs = RealDate.parse(process.env.BONSAI_PICTURES_AT ?? "") - RealDate.now();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length === 0 ? [target.now() + shiftMs] : given, self),
  get: (target, name, self) =>
    name === "now" ? () => target.now() + shiftMs : Reflect.get(target, name, self),
});
