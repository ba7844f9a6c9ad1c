// Dragging the standards of a project to another place, by mouse, pen or finger. The form that the buttons use sends the
// order, so this only changes what it holds.
'use strict'

const EDGE_PIXELS = 60
const SCROLL_PIXELS = 12

let held = null

function idsOf (list) { return [...list.children].map(item => item.dataset.id).join(' ') }

function grab (event) {
  const grip = event.target instanceof Element ? event.target.closest('.grip') : null
  if (!grip || event.button !== 0 || held) return
  const item = grip.closest('li')
  held = { item, list: item.parentElement, before: [...item.parentElement.children], pointer: event.pointerId, y: event.clientY }
  grip.setPointerCapture(event.pointerId)
  item.classList.add('held')
  // A button that has the focus would count as pressed.
  document.activeElement?.blur()
  held.scrolling = setInterval(scroll, 16)
}

// The others make way: what is moved in the document loses the pointer.
function place () {
  const { item, list, y } = held
  for (let other = item.previousElementSibling; other && y < middle(other); other = item.previousElementSibling) list.insertBefore(other, item.nextElementSibling)
  for (let other = item.nextElementSibling; other && y > middle(other); other = item.nextElementSibling) list.insertBefore(other, item)
}

function middle (item) {
  const box = item.getBoundingClientRect()
  return box.top + box.height / 2
}

function scroll () {
  if (held.y < EDGE_PIXELS) scrollBy(0, -SCROLL_PIXELS)
  else if (held.y > innerHeight - EDGE_PIXELS) scrollBy(0, SCROLL_PIXELS)
  else return
  place()
}

function release (isKept) {
  const { item, list, before, scrolling } = held
  clearInterval(scrolling)
  held = null
  item.classList.remove('held')
  if (!isKept) list.append(...before)
  const form = list.closest('form')
  const order = idsOf(list)
  if (form.elements.order.value === order) return
  form.elements.order.value = order
  form.elements.moved.value = item.dataset.id
  form.requestSubmit()
}

document.addEventListener('pointerdown', grab)
document.addEventListener('pointermove', event => {
  if (held?.pointer !== event.pointerId) return
  held.y = event.clientY
  place()
})
document.addEventListener('pointerup', event => { if (held?.pointer === event.pointerId) release(true) })
document.addEventListener('pointercancel', event => { if (held?.pointer === event.pointerId) release(false) })
document.addEventListener('keydown', event => { if (held && event.key === 'Escape') release(false) })

// A button at the edge keeps the focus that it has, and is not sent.
document.addEventListener('click', event => {
  if (event.target instanceof Element && event.target.closest('.given [aria-disabled=true]')) event.preventDefault()
})
