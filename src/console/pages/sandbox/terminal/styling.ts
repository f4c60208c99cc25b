/**
 * xterm.js styles itself with <style> elements and style attributes, which the page's policy refuses. The policy allows a script to change style
 * sheets and declarations, which has the same effect; so while xterm.js creates its elements, these are redirected to that.
 *
 * Its option `documentOverride` does not help: version 6.0.0 creates the scroll bar and the cells with the page's own document anyway.
 *
 * @source W3C Content Security Policy Level 3 section 6.7 (inline style); CSSOM section 6.1.2 (adoptedStyleSheets)
 */

/** Its text is a style sheet of the page until it is removed. */
const styleStandIn = (): HTMLElement => {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  // Never displayed.
  const element = Document.prototype.createElement.call(document, "template")
  Object.defineProperties(element, {
    textContent: { set: (css: string) => sheet.replaceSync(css) },
    remove: {
      value: () => {
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet)
        Element.prototype.remove.call(element)
      }
    }
  })
  return element
}

/** Runs `make` without real <style> elements. */
export const withoutStyleElements = (make: () => void): void => {
  const createElement = (name: string) =>
    name === "style" ? styleStandIn() : Document.prototype.createElement.call(document, name)
  document.createElement = createElement as Document["createElement"]
  try {
    make()
  } finally {
    // Restores the prototype's method.
    Reflect.deleteProperty(document, "createElement")
  }
}

/** Cells are spans, created with each drawn row. From now on the page's spans set declarations when they are given the attribute. */
export const spansWithoutStyleAttributes = (): void => {
  HTMLSpanElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
